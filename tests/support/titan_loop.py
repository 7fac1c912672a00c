"""The loop of torchtitan's Trainer on CPU: its set-up and its step, which want a GPU, are ours."""

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torchtitan.trainer

from tests.support.titan import Titan


class InItsLoop(Titan):
    """The same training, whose steps torchtitan counts, saves and ends."""

    should_continue_training = torchtitan.trainer.Trainer.should_continue_training

    def batch_generator(self, data: Any) -> Iterator[Any]:  # noqa: ANN401 - whatever torchtitan passes on
        """Iterate over the data, without torchtitan's metrics."""
        return iter(data)

    def _train(self) -> None:
        # By way of CUDA's device it shortens the time-outs of its groups after the first step.
        torchtitan.trainer.dist_utils.set_pg_timeouts = lambda **_: None
        profiler = SimpleNamespace(step=lambda: None)
        self.config.checkpoint = SimpleNamespace(load_step=-1)
        self.config.profiler = SimpleNamespace(build=lambda **_: contextlib.nullcontext(profiler))
        self.config.dump_folder = str(self.place)
        self.config.validator = SimpleNamespace(enable=False)
        self.config.comm = SimpleNamespace(train_timeout_seconds=100)
        self.gc_handler = SimpleNamespace(run=lambda _: None)
        self.dataloader = self.data
        self.parallel_dims = None
        torchtitan.trainer.Trainer.train(self)
