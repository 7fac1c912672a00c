"""Counting samples that a loop fetches itself: each is seen once, over stops and resumes."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from tests.support.flags import remove_flag
from tests.support.node import Node
from tests.support.training import Run
from trainer_hooks import OfEachRank, ResumableSampler, TrainerHooks
from trainer_hooks.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

SIZE, TAKEN, UNTIL = 11, 3, 9


class Taking:
    """A loop that takes its samples from the sampler, in two portions a step."""

    def __init__(self, node: Node, *, is_kept: bool = True) -> None:
        self.node = node
        self.is_kept = is_kept
        """Whether one iterator serves all steps; else each step begins one."""
        self.seen: dict[int, list[int]] = {}

    def start(self, stop_in: int | None = None, *, leaves: bool = False) -> None:
        """Train up to the end, or a step in which the node's notice comes."""
        sampler = ResumableSampler(SIZE, seed=3)
        run = Run(data=sampler, seed=len(self.seen))
        kept = iter(sampler)
        with TrainerHooks(
            run.state,
            checkpoint_dir=self.node.checkpoints,
            save_every=4,
            exit_on_preempt=False,
            always_stop=True,
        ) as hooks:
            self.node.hooks = hooks
            for step in hooks.steps(until=UNTIL):
                ids = kept if self.is_kept else iter(sampler)
                taken = self._take(hooks, ids)
                if step == stop_in:
                    self.node.measure(1e6 if leaves else 1.0)  # no time to save this step, or all
                    self.node.notice()
                    if leaves:
                        assert hooks.boundary()
                        continue
                run.step()
                self.seen[step] = taken
        if stop_in is not None:
            remove_flag(self.node.run_dir)

    def _take(self, hooks: TrainerHooks, ids: Iterator[int]) -> list[int]:
        taken: list[int] = []
        for portion in (1, TAKEN - 1):
            taken += islice(ids, portion)
            hooks.consumed(portion)
        return taken


def straight() -> dict[int, list[int]]:
    """Return what each step of a run that nothing stops has to see."""
    ids = iter(ResumableSampler(SIZE, seed=3))
    return {step: list(islice(ids, TAKEN)) for step in range(UNTIL)}


@pytest.mark.parametrize("is_kept", [True, False])
def test_every_sample_is_seen_once_when_a_run_is_resumed_twice(
    node: Node, *, is_kept: bool
) -> None:
    """In the step after the one that was saved, into other epochs, from any iterator."""
    loop = Taking(node, is_kept=is_kept)
    loop.start(stop_in=2)
    assert sorted(loop.seen) == [0, 1, 2]
    loop.start(stop_in=6)
    loop.start()
    assert loop.seen == straight()
    assert node.committed[-1] == UNTIL


def test_samples_of_a_step_are_dealt_again_when_it_was_not_finished(node: Node) -> None:
    """What a step has taken counts with the step."""
    loop = Taking(node)
    loop.start(stop_in=5, leaves=True)
    assert 5 not in loop.seen
    loop.start()
    assert loop.seen == straight()


def test_position_stays_within_a_step_and_moves_at_its_end(node: Node) -> None:
    """By as many samples as each rank has taken, times the ranks; a step left by break has none."""
    sampler = ResumableSampler(SIZE, rank=1, world_size=4)
    run = Run(data=sampler)
    with TrainerHooks(run.state, checkpoint_dir=node.checkpoints, save_every=9) as hooks:
        for step in hooks.steps(until=4):
            run.step()
            hooks.consumed(np.int64(2))
            hooks.consumed(0)
            assert sampler.position == 8 * step
            if step == 1:
                break
        assert sampler.position == 8
        for step in hooks.steps(until=2):
            assert step == 1
            run.step()
            hooks.consumed(3)
    assert sampler.position == 8 + 12


def test_other_global_batch_is_said_when_a_run_is_resumed(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Once: a step of other samples is another training, and may be meant."""
    said: list[str] = []
    for until, taken in ((2, 2), (4, 2), (8, 5)):
        run = Run(data=ResumableSampler(SIZE))
        with TrainerHooks(run.state, checkpoint_dir=node.checkpoints, save_every=9) as hooks:
            for _ in hooks.steps(until=until):
                run.step()
                hooks.consumed(taken)
        said = [line for line in caplog.messages if "this is another training" in line]
        assert len(said) == (until == 8)
    assert "were 2 samples when the checkpoint was made, and are 5 now" in said[0]


class Positioned:
    """Data that keeps its own position."""

    def state_dict(self) -> dict[str, Any]:
        """Return none."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Take none."""


@pytest.mark.parametrize("data", [None, OfEachRank(Positioned())])
def test_count_is_refused_when_nobody_keeps_such_a_position(
    tmp_path: Path, data: OfEachRank | None
) -> None:
    """It would be lost."""
    hooks = TrainerHooks(Run(data=data).state, checkpoint_dir=tmp_path, save_every=1)
    with pytest.raises(ConfigError, match=r"ResumableSampler, and TrainState\(data=...\) is a "):
        hooks.consumed(1)


@pytest.mark.parametrize("samples", [-1, 2.0, "2", None, torch.rand(3)])
def test_count_is_refused_when_it_is_no_number_of_samples(node: Node, samples: Any) -> None:  # noqa: ANN401 - that is the test
    """The batch instead of its length, say."""
    run = Run(data=ResumableSampler(SIZE))
    with TrainerHooks(
        run.state, checkpoint_dir=node.checkpoints, save_every=9, exit_on_preempt=False
    ) as hooks:
        for _ in hooks.steps(until=1):
            run.step()
            with pytest.raises(ConfigError, match="no number of samples"):
                hooks.consumed(samples)


def test_end_is_refused_when_no_step_is_under_way(node: Node) -> None:
    """Before the first and after the last: there is none to be the last."""
    run = Run()
    with TrainerHooks(
        run.state, checkpoint_dir=node.checkpoints, save_every=9, exit_on_preempt=False
    ) as hooks:
        with pytest.raises(ConfigError, match="call it within one"):
            hooks.end()
        for _ in hooks.steps(until=1):
            run.step()
        with pytest.raises(ConfigError, match="call it within one"):
            hooks.end()


def test_count_is_refused_when_no_step_is_under_way(node: Node) -> None:
    """Before the first, after the last: no checkpoint would have it."""
    run = Run(data=ResumableSampler(SIZE))
    with TrainerHooks(
        run.state, checkpoint_dir=node.checkpoints, save_every=9, exit_on_preempt=False
    ) as hooks:
        with pytest.raises(ConfigError, match="call it within one"):
            hooks.consumed(1)
        for _ in hooks.steps(until=1):
            run.step()
        with pytest.raises(ConfigError, match="call it within one"):
            hooks.consumed(1)


@pytest.mark.parametrize("is_loader_first", [True, False])
def test_samples_are_not_counted_twice_when_a_loader_counts_them(
    node: Node, *, is_loader_first: bool
) -> None:
    """By whichever comes second."""
    sampler = ResumableSampler(SIZE)
    data = TensorDataset(torch.arange(SIZE))
    loader: DataLoader[Any] = DataLoader(data, 2, sampler=sampler, generator=torch.Generator())
    run = Run(data=sampler)
    with TrainerHooks(
        run.state, checkpoint_dir=node.checkpoints, save_every=9, exit_on_preempt=False
    ) as hooks:
        acts: list[Any] = [lambda: hooks.batches(loader), lambda: hooks.consumed(2)]
        for _ in hooks.steps(until=1):
            run.step()
            first, second = acts if is_loader_first else reversed(acts)
            first()
            with pytest.raises(ConfigError, match="use one of them"):
                second()
