"""Lightning: a Callback that goes around ``Trainer.fit`` as TrainerHooks goes around a loop.

Lightning owns the loop, and asks for batches. So the boundary before a step lies where the first
batch of that step is asked for: all that belongs to the step before is done then, its validation
and its callbacks too, and nothing of the next one has begun.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch.utils.data import DataLoader

from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError
from trainer_hooks.hooks import TrainerHooks
from trainer_hooks.of_each_rank import Stateful
from trainer_hooks.state import TrainState

OWN_STOPS = {
    "fit_loop.epoch_loop": "_broadcast_sigterm_tensor",
    "_signal_connector": "_sigterm_notifier_fn",
}
"""How Lightning stops on a SIGTERM: asking rank 0 before each batch, and by a broadcast within the
signal handler, which pairs with whatever collective comes next (Lightning 2.6.6, read 2026-12-01).
Both are put out of use. These are the private names that this leans on."""


class TrainerHooksCallback(Callback):
    """Stops all ranks of a ``Trainer.fit`` at one step, commits checkpoints, resumes exactly.

    Every rank makes one::

        survive = TrainerHooksCallback(loader, checkpoint_dir=path, save_every=100)
        trainer = Trainer(callbacks=[survive], max_steps=10_000, enable_checkpointing=False)
        trainer.fit(model, survive.batches)

    Nothing else changes. What comes back: model, optimizer, learning rate schedules, scaler, random
    numbers, the place in the data, Lightning's own counters, and what other callbacks keep.

    Args:
        loader: Of the training data. Its sampler is a ResumableSampler; which ranks it deals to is
            asked of the Trainer.
        seed: As in TrainState.
        extras: As in TrainState.
        options: As in TrainerHooks: ``checkpoint_dir`` and ``save_every`` at least.

    Raises:
        ConfigError: Nobody keeps the position of such data.
    """

    def __init__(
        self,
        loader: DataLoader[Any],
        *,
        seed: int = 0,
        extras: Mapping[str, Stateful] | None = None,
        **options: Any,  # noqa: ANN401 - TrainerHooks has their types
    ) -> None:
        if not isinstance(loader.sampler, ResumableSampler):
            raise ConfigError(
                f"the loader goes by a {type(loader.sampler).__name__}, whose position nobody "
                "keeps: make it with DataLoader(..., sampler=ResumableSampler(len(data)))"
            )
        self.batches = _Batches(loader, loader.sampler)
        """For ``Trainer.fit``, in place of the loader."""
        self.hooks: TrainerHooks | None = None
        """While a fit is under way."""
        self._seed = seed
        self._extras = dict(extras or {})
        self._options = options

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Meet the other ranks, and restore. Model and optimizer are where they will train.

        Raises:
            ConfigError: The Trainer is told to do what nobody could resume.
        """
        _refuse(trainer)
        for owner, name in OWN_STOPS.items():
            setattr(_of(trainer, owner), name, lambda *_: None)
        self.batches.deal_to(**(trainer.distributed_sampler_kwargs or {}))
        hooks = TrainerHooks(self._state_of(trainer, pl_module), **self._options)
        hooks.__enter__()
        self.hooks = hooks
        self.batches.begin(trainer, hooks)

    def on_train_batch_end(self, *arguments: Any) -> None:  # noqa: ANN401 - Lightning's own
        """Note the loss of the step under way."""
        outputs = arguments[2]
        if self.hooks is not None and isinstance(outputs, Mapping):
            self.hooks.note_loss(outputs["loss"])

    def on_validation_batch_start(self, *_: object) -> None:
        """Say that the training is under way, where no boundary is."""
        if self.hooks is not None:
            self.hooks.alive()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End the run with the last step, which is committed. All ranks come here together."""
        del trainer, pl_module
        self._end()

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End a run that had nothing left to do: Lightning has called nothing in between."""
        del trainer, pl_module
        self._end()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Leave as the block of TrainerHooks is left by an error."""
        del trainer, pl_module
        hooks, self.hooks = self.hooks, None
        if hooks is not None:
            hooks.__exit__(type(exception), exception, exception.__traceback__)

    def _end(self) -> None:
        if self.hooks is not None:
            self.batches.end()
            hooks, self.hooks = self.hooks, None
            hooks.__exit__(None, None, None)

    def _state_of(self, trainer: Trainer, module: LightningModule) -> TrainState:
        schedules = [config.scheduler for config in trainer.lr_scheduler_configs]
        further = {f"scheduler_{n}": one for n, one in enumerate(schedules[1:], 1)}
        return TrainState(
            model=module,
            optimizer=trainer.optimizers[0],
            scheduler=schedules[0] if schedules else None,
            scaler=getattr(trainer.precision_plugin, "scaler", None),
            data=self.batches.sampler,
            extras={"lightning": _Loops(trainer), **further, **self._extras},
            seed=self._seed,
        )


class _Batches:
    """What Lightning takes for its training data: one stream, whose epochs run on.

    An epoch is as many batches as the data set has for each rank, the last one left out that would
    not be whole. Lightning does not fetch ahead of what tells its length.
    """

    def __init__(self, loader: DataLoader[Any], sampler: ResumableSampler) -> None:
        self.loader = loader
        self.sampler = sampler
        self._trainer: Trainer | None = None
        self._stopped_at: int | None = None

    def deal_to(self, num_replicas: int = 1, rank: int = 0) -> None:
        """Deal to so many ranks, of which this is one, from now on."""
        self.sampler.world_size, self.sampler.rank = num_replicas, rank

    def begin(self, trainer: Trainer, hooks: TrainerHooks) -> None:
        """Be asked for batches from the restored position on."""
        self._trainer, self._hooks = trainer, hooks
        self._handed_out = hooks.batches(self.loader)
        self._steps = hooks.steps(until=_end_of(trainer))
        self._began_at: int | None = None

    def end(self) -> None:
        """Make the step under way the last, if there is one: Lightning may end where it likes."""
        if self._began_at is not None:
            self._hooks.end()
        next(self._steps, None)

    def __len__(self) -> int:
        """Return the batches of an epoch, at least one."""
        at_once = (self.loader.batch_size or 1) * self.sampler.world_size
        return max(1, self.sampler.order.epoch_samples // at_once)

    def __iter__(self) -> Iterator[Any]:
        """Go on where the epoch before has ended."""
        while True:
            self._pass_boundary()
            yield next(self._handed_out)

    def _pass_boundary(self) -> None:
        """Begin a step, if the optimizer has made one since the last; leave here on a stop."""
        if self._trainer is None:
            raise ConfigError(
                "TrainerHooksCallback.batches is only for the Trainer that has the callback: "
                "Trainer(callbacks=[survive])"
            )
        if self._began_at == self._trainer.global_step:
            return
        self._began_at = self._trainer.global_step
        if next(self._steps, None) is None:
            self._hooks.__exit__(None, None, None)


class _Loops:
    """Lightning's own counters, and what its other callbacks keep."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    def state_dict(self) -> dict[str, Any]:
        """Return them."""
        others = {one.state_key: one.state_dict() for one in self._others()}
        return {
            "fit_loop": self._trainer.fit_loop.state_dict(),
            "callbacks": {key: state for key, state in others.items() if state},
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Have them go on from there."""
        self._trainer.fit_loop.load_state_dict(dict(state_dict["fit_loop"]))
        for one in self._others():
            if one.state_key in state_dict["callbacks"]:
                one.load_state_dict(dict(state_dict["callbacks"][one.state_key]))

    def _others(self) -> list[Callback]:
        callbacks: list[Callback] = self._trainer.callbacks  # type: ignore[attr-defined]  # untyped
        return [one for one in callbacks if not isinstance(one, TrainerHooksCallback)]


def _of(trainer: Trainer, path: str) -> Any:  # noqa: ANN401 - parts of a Trainer
    owner: Any = trainer
    for name in path.split("."):
        owner = getattr(owner, name)
    return owner


def _end_of(trainer: Trainer) -> int:
    """Return the optimizer step that the Trainer ends with, if nothing ends it before."""
    if trainer.max_steps >= 0:
        return trainer.max_steps
    return int(min(trainer.estimated_stepping_batches, sys.maxsize))


def _refuse(trainer: Trainer) -> None:
    if trainer.ckpt_path is not None:
        raise ConfigError(
            "Trainer.fit(ckpt_path=...) would overwrite what was resumed: leave it out, the newest "
            "committed checkpoint is found by itself"
        )
    if len(trainer.optimizers) != 1:
        raise ConfigError(
            f"the module has {len(trainer.optimizers)} optimizers: a step of Lightning's is then "
            "none of each. Use one, with as many parameter groups as you like"
        )
