"""Accelerate: a TrainState made of what ``accelerator.prepare`` has returned, and its batches.

A loop of Accelerate's is a plain loop: the user owns it, and TrainerHooks goes around it as it
does anywhere. What has to be told apart is which of the prepared objects are the state, what a
step is where gradients accumulate, and where in the data the ranks are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.data_loader import DataLoaderDispatcher
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.utils import send_to_device
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError
from trainer_hooks.hooks import TrainerHooks
from trainer_hooks.of_each_rank import Stateful
from trainer_hooks.state import TrainState

REGISTERED = "_custom_objects"
"""Where an Accelerator keeps what ``register_for_checkpointing`` was given: the one private name
that this leans on."""

OTHER_STATES = ("DEEPSPEED", "MEGATRON_LM", "XLA")
"""They keep parameters or moments where torch's state dicts do not reach."""

_KEPT = (
    "collate_fn",
    "in_order",
    "multiprocessing_context",
    "num_workers",
    "persistent_workers",
    "pin_memory",
    "prefetch_factor",
    "timeout",
    "worker_init_fn",
)
"""What a prepared loader's settings are taken over."""


class Prepared:
    """What ``accelerator.prepare`` has returned, as TrainerHooks needs it. Every rank makes one.

    It goes around a loop that stays as it is::

        prepared = Prepared(accelerator, model, optimizer, loader, scheduler)
        with TrainerHooks(prepared.state, checkpoint_dir=path, save_every=100) as hooks:
            batches = prepared.batches(hooks)
            for _ in hooks.steps(until=10_000):
                for inputs, targets in next(batches):
                    with accelerator.accumulate(model):
                        ...

    All that was given to ``accelerator.register_for_checkpointing`` is part of the state, whenever
    that was. It is such an object itself: register it, and ``accelerator.save_state`` keeps the
    data position too.

    Args:
        accelerator: The one that has prepared the others.
        model: As prepared.
        optimizer: As prepared.
        loader: As prepared. Its sampler is a ResumableSampler, made after the Accelerator.
        scheduler: As prepared; None: there is none.
        seed: As in TrainState.

    Raises:
        ConfigError: Nobody could keep the position of such data, or a plugin of Accelerate's keeps
            parameters in a way of its own.
    """

    def __init__(  # noqa: PLR0913 - what prepare returns, in its order
        self,
        accelerator: Accelerator,
        model: nn.Module,
        optimizer: Optimizer,
        loader: DataLoader[Any],
        scheduler: Stateful | None = None,
        *,
        seed: int = 0,
    ) -> None:
        if accelerator.distributed_type.name in OTHER_STATES:
            raise ConfigError(
                f"Accelerate's {accelerator.distributed_type.name} keeps its state in a way of its "
                "own, of which a checkpoint here would hold nothing"
            )
        self._accelerator = accelerator
        self._sampler = _sampler_of(loader, accelerator)
        self._loader = dealt_once(loader, self._sampler, accelerator)
        # Under the wrapper, which has never run Optimizer.__init__ and takes no hooks.
        plain = optimizer.optimizer if isinstance(optimizer, AcceleratedOptimizer) else optimizer
        self.state = TrainState(
            model=model,
            optimizer=plain,
            scheduler=scheduler,
            scaler=accelerator.scaler,
            data=self._sampler,
            extras=_Registered(accelerator, but=(self, self._sampler)),
            seed=seed,
        )
        """For TrainerHooks."""

    def batches(self, hooks: TrainerHooks) -> Iterator[Iterator[Any]]:
        """Iterate over the batches of each step from the restored position on, without end.

        A step ends with the batch whose gradients Accelerate synchronises: one without
        ``accumulate``, as many as it accumulates with it. They are on the Accelerator's device. The
        workers start now.
        """
        handed_out = hooks.batches(self._loader)
        return (self._of_a_step(handed_out) for _ in iter(int, 1))

    def state_dict(self) -> dict[str, Any]:
        """Return the data position, for ``accelerator.save_state``."""
        return self._sampler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Go to a data position, for ``accelerator.load_state``. Call that before ``batches``.

        Raises:
            StateError: The position belongs to another order of the data.
        """
        self._sampler.load_state_dict(state_dict)

    def _of_a_step(self, handed_out: Iterator[Any]) -> Iterator[Any]:
        is_whole = False
        while not is_whole:
            batch = next(handed_out)
            if self._accelerator.device_placement:
                is_asynchronous = self._accelerator.non_blocking
                batch = send_to_device(
                    batch, self._accelerator.device, non_blocking=is_asynchronous
                )
            yield batch
            is_whole = self._accelerator.sync_gradients


class _Registered(Mapping[str, Stateful]):
    """What an Accelerator was given to checkpoint, by the number that Accelerate gives it.

    Looked up each time: a script may register after it has made the state.
    """

    def __init__(self, accelerator: Accelerator, but: tuple[object, ...]) -> None:
        self._accelerator = accelerator
        self._but = but

    def _named(self) -> dict[str, Stateful]:
        objects = enumerate(getattr(self._accelerator, REGISTERED))
        return {
            f"registered_{number}": one
            for number, one in objects
            if not any(one is other for other in self._but)
        }

    def __getitem__(self, name: str) -> Stateful:
        return self._named()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named())

    def __len__(self) -> int:
        return len(self._named())


def _sampler_of(loader: DataLoader[Any], accelerator: Accelerator) -> ResumableSampler:
    if isinstance(loader, DataLoaderDispatcher):
        raise ConfigError(
            "with dispatch_batches=True rank 0 reads for all, some batches ahead, and nobody knows "
            "which the ranks have trained on: let each rank read, dispatch_batches=False"
        )
    batches = loader.batch_sampler
    within = getattr(batches, "batch_sampler", batches)  # on one process Accelerate shards nothing
    sampler = getattr(within, "sampler", None)
    if not isinstance(sampler, ResumableSampler):
        raise ConfigError(
            f"the prepared loader goes by a {type(sampler).__name__}, whose position nobody keeps: "
            "make it with DataLoader(..., sampler=ResumableSampler(len(data))) instead of shuffle="
        )
    if sampler.world_size != accelerator.num_processes:
        raise ConfigError(
            f"the ResumableSampler deals to {sampler.world_size} ranks, and there are "
            f"{accelerator.num_processes} by the Accelerator: make it after that, which lets them "
            "meet, and on CPUs say Accelerator(cpu=True), which else leaves each rank on its own"
        )
    return sampler


def dealt_once(
    loader: DataLoader[Any], sampler: ResumableSampler, accelerator: Accelerator
) -> DataLoader[Any]:
    """Return a loader with the settings of a prepared one, without its sharding.

    The sampler deals to the ranks already. And a prepared one looks a batch ahead for the end of an
    epoch, of which there is none here.
    """
    size = loader.batch_sampler.batch_size  # type: ignore[union-attr]  # BatchSampler's and a shard's
    if accelerator.split_batches:
        size //= accelerator.num_processes
    return DataLoader(
        loader.dataset,
        size,
        sampler=sampler,
        # Of its own, or it would draw from the training's random numbers.
        generator=loader.generator or torch.Generator(),
        **{name: getattr(loader, name) for name in _KEPT},
    )
