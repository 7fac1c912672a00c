"""Transformers: a mixin for its Trainer, which goes around ``train`` as TrainerHooks around a loop.

The Trainer owns the loop, and fetches the batches of a step together. So the boundary before a step
lies where the first of them is asked for: logging, evaluation and callbacks of the step before have
had their turn by then, and nothing of the next one has begun.
"""

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import torch
import torch.distributed as dist
from accelerate.optimizer import AcceleratedOptimizer
from torch.utils.data import DataLoader
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import has_length

from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError
from trainer_hooks.hooks import TrainerHooks
from trainer_hooks.integrations.accelerate import OTHER_STATES, dealt_once
from trainer_hooks.state import TrainState

KEPT = (
    "global_step",
    "log_history",
    "best_metric",
    "best_global_step",
    "best_model_checkpoint",
    "num_input_tokens_seen",
    "total_flos",
)
"""What of a TrainerState comes back; the rest a start knows by itself."""

LAST_LOGGED = "_globalstep_last_logged"
"""Where a Trainer keeps the step of its last log, whose mean loss it counts from there: the one
private name that this leans on."""


class Resumable:
    """Stops all ranks of a ``Trainer.train`` at one step, commits checkpoints, resumes exactly.

    It comes before a Trainer, whichever it is. Every rank makes one::

        class SurvivingTrainer(Resumable, Trainer):
            pass

        trainer = SurvivingTrainer(
            model, TrainingArguments(max_steps=10_000, save_strategy="no"), train_dataset=data,
            hooks={"checkpoint_dir": path, "save_every": 100},
        )
        trainer.train()

    Args:
        arguments: As the Trainer's.
        hooks: As in TrainerHooks: ``checkpoint_dir`` and ``save_every`` at least.
        named: As the Trainer's.
    """

    def __init__(self, *arguments: Any, hooks: Mapping[str, Any], **named: Any) -> None:  # noqa: ANN401 - the Trainer has their types
        super().__init__(*arguments, **named)
        self.survival = _Survival(self, hooks)
        """What goes around ``train``: its ``hooks``, while one is under way."""
        self.add_callback(self.survival)  # type: ignore[attr-defined]  # a Trainer's

    def train(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - the Trainer has their types
        """Train; an error leaves as it leaves the block of TrainerHooks."""
        with self.survival:
            return super().train(*arguments, **named)  # type: ignore[misc]  # a Trainer's

    def get_train_dataloader(self) -> Any:  # noqa: ANN401 - what a Trainer takes for a DataLoader
        """Return the batches of the whole run, dealt by a ResumableSampler.

        Raises:
            ConfigError: Nobody could resume such a training.
        """
        refuse(self)
        loader = super().get_train_dataloader()  # type: ignore[misc]  # a Trainer's
        return self.survival.of(loader)

    def training_step(self, *arguments: Any, **named: Any) -> torch.Tensor:  # noqa: ANN401 - a Trainer's
        """Do one batch of a step, and note its loss."""
        loss: torch.Tensor = super().training_step(*arguments, **named)  # type: ignore[misc]  # a Trainer's
        if self.survival.hooks is not None:
            self.survival.hooks.note_loss(loss)
        return loss


class _Survival(TrainerCallback):
    """What a Trainer takes for its training data, and for a callback.

    It tells no length, so that the Trainer makes one epoch of the whole run, as long as max_steps.
    """

    def __init__(self, trainer: Any, options: Mapping[str, Any]) -> None:  # noqa: ANN401 - any Trainer
        self.hooks: TrainerHooks | None = None
        self._trainer = trainer
        self._options = dict(options)
        self._began_at: int | None = None

    def __enter__(self) -> None:
        """Begin; who is met is met as the training begins."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave, if it was not left in order."""
        hooks, self.hooks = self.hooks, None
        if hooks is not None:
            hooks.__exit__(kind, error, trace)

    def of(self, loader: DataLoader[Any]) -> "_Survival":
        """Return the batches of a loader in the order of a ResumableSampler, without end."""
        trainer = self._trainer
        args: TrainingArguments = trainer.args
        self._sampler = ResumableSampler(
            len(trainer.train_dataset),
            seed=args.seed if args.data_seed is None else args.data_seed,
            shuffle=args.train_sampling_strategy != "sequential",
            rank=args.process_index,
            world_size=args.world_size,
        )
        self._loader = dealt_once(loader, self._sampler, trainer.accelerator)
        return self

    def __iter__(self) -> Iterator[Any]:
        """Go on from the restored position."""
        batches = self._hooks.batches(self._loader)
        while True:
            if self._began_at != self._trainer.state.global_step:
                self._began_at = self._trainer.state.global_step
                if next(self._steps, None) is None:
                    self.__exit__(None, None, None)
                    return
            yield next(batches)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Meet the other ranks, and restore. Model and optimizer are where they will train.

        Raises:
            ConfigError: The Trainer has resumed from somewhere else.
        """
        del args, control
        if state.global_step:
            raise ConfigError(
                "train(resume_from_checkpoint=...) has resumed another checkpoint: leave it out, "
                "the newest committed one is found by itself"
            )
        self.hooks = self._hooks = TrainerHooks(self._state(), **self._options).__enter__()
        setattr(self._trainer, LAST_LOGGED, state.global_step)
        self._steps = self.hooks.steps(until=state.max_steps)
        self._began_at = None

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Count epochs of the data, where the Trainer counts shares of the run."""
        del control
        of_a_step = args.per_device_train_batch_size * args.gradient_accumulation_steps
        state.epoch = state.global_step * of_a_step * args.world_size / self._sampler.size

    def on_prediction_step(self, *_: object, **__: object) -> None:
        """Say that the training is under way, where no boundary is."""
        if self.hooks is not None:
            self.hooks.alive()

    def on_epoch_end(self, *_: object, **__: object) -> None:
        """End the run with the last step, before the Trainer puts the best weights in its place."""
        if self.hooks is not None:
            self.hooks.end()
            next(self._steps, None)
            self.__exit__(None, None, None)

    def _state(self) -> TrainState:
        trainer = self._trainer
        wrapped = trainer.optimizer
        return TrainState(
            model=trainer.model_wrapped,
            # Under Accelerate's wrapper, which has never run Optimizer.__init__ and takes no hooks.
            optimizer=wrapped.optimizer if isinstance(wrapped, AcceleratedOptimizer) else wrapped,
            scheduler=trainer.lr_scheduler,
            scaler=trainer.accelerator.scaler,
            data=self._sampler,
            extras={"trainer": _Counters(trainer)},
            seed=trainer.args.seed,
        )


class _Counters:
    """A Trainer's own state, and what its callbacks keep."""

    def __init__(self, trainer: Any) -> None:  # noqa: ANN401 - any Trainer
        self._trainer = trainer

    def state_dict(self) -> dict[str, Any]:
        """Return it."""
        return {
            "state": {name: getattr(self._trainer.state, name) for name in KEPT},
            "callbacks": {name: one.state()["attributes"] for name, one in self._others()},
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Have the Trainer go on from there."""
        for name in KEPT:
            setattr(self._trainer.state, name, state_dict["state"][name])
        for name, one in self._others():
            for attribute, value in state_dict["callbacks"].get(name, {}).items():
                setattr(one, attribute, value)

    def _others(self) -> list[tuple[str, Any]]:
        callbacks = self._trainer.callback_handler.callbacks
        return [(type(one).__name__, one) for one in callbacks if isinstance(one, ExportableState)]


def refuse(trainer: Any) -> None:  # noqa: ANN401 - any Trainer
    """Refuse by name what nobody could resume.

    Raises:
        ConfigError: The Trainer is told to do that.
    """
    args: TrainingArguments = trainer.args
    kind = trainer.accelerator.distributed_type.name
    if args.max_steps <= 0:
        raise ConfigError(
            "say how many steps the run has: TrainingArguments(max_steps=...). Epochs have another "
            "number of them on other ranks"
        )
    ranks = dist.get_world_size() if dist.is_initialized() else 1
    if ranks != args.world_size:
        raise ConfigError(
            f"there are {ranks} ranks and {args.world_size} by the Trainer, so each would train "
            "alone: on CPUs say TrainingArguments(use_cpu=True)"
        )
    if not has_length(trainer.train_dataset):
        raise ConfigError(
            f"the training data is a {type(trainer.train_dataset).__name__} without a length, "
            "whose position nobody keeps: give a data set of a known one"
        )
    if args.train_sampling_strategy not in ("random", "sequential"):
        raise ConfigError(
            f"train_sampling_strategy={args.train_sampling_strategy!r} has an order of its own, "
            "whose position nobody keeps: use random or sequential"
        )
    if args.auto_find_batch_size or args.enable_jit_checkpoint:
        raise ConfigError(
            "auto_find_batch_size changes what a step is, and enable_jit_checkpoint saves and "
            "leaves by itself: use neither"
        )
    if kind in OTHER_STATES:
        raise ConfigError(
            f"{kind} keeps its state in a way of its own, of which a checkpoint here would hold "
            "nothing"
        )
