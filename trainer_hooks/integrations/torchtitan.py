"""torchtitan: TrainerHooks as the checkpointer that its Trainer calls.

torchtitan owns the loop and calls its checkpointer at the end of every step, which is where a step
boundary is. So the adapter drives ``hooks.steps`` from ``save``: what lies between two calls is one
step, and where the steps end the process does too.
"""

import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torchdata.stateful_dataloader import StatefulDataLoader
from torchtitan.components.checkpointer import TRAIN_STATE, BaseCheckpointManager, CheckpointManager
from torchtitan.tools import filesystem

from trainer_hooks.errors import ConfigError
from trainer_hooks.hooks import TrainerHooks
from trainer_hooks.of_each_rank import OfEachRank, Stateful
from trainer_hooks.state import TrainState

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNSUPPORTED = {
    "create_seed_checkpoint": "make it with torchtitan's CheckpointManager, and train from it by "
    "initial_load_path",
    "enable_first_step_checkpoint": "interval=1 saves after the first step",
    "exclude_from_loading": "a resume that leaves something out trains on from another state",
    "last_save_in_hf": "the last save is a whole state, and `reprieve-trainer checkpoints export` "
    "makes safetensors of it",
    "load_only": "use torchtitan's CheckpointManager where nothing is to be saved",
}
"""Settings of torchtitan's that are refused where they are on, and what to do instead."""


class HooksCheckpointer(BaseCheckpointManager):  # type: ignore[misc]  # torchtitan ships no types
    """Saves torchtitan's training so that it survives the loss of a node. Every rank makes one.

    Its ``Config`` takes the place of ``CheckpointManager.Config`` in a configuration, and nothing
    else changes there. A stop that was agreed ends the process within ``save``, with 75.

    Args:
        config: Torchtitan's settings for checkpoints, and ``always_stop``.
        dataloader: Its position is kept for each rank; None: there is none.
        model_parts: One: a pipeline may have one stage a rank.
        optimizers: A container of one optimizer.
        lr_schedulers: The container of its schedulers.
        states: ``train_state``, which is the Trainer, and whatever else has a state.
        sd_adapter: For an ``initial_load_path`` in Hugging Face's format.
        base_folder: What ``config.folder`` is relative to.

    Raises:
        ConfigError: A setting, or the training, is one that this does not support.
    """

    @dataclass(kw_only=True, slots=True)
    class Config(BaseCheckpointManager.Config):  # type: ignore[misc]  # likewise
        """Torchtitan's settings; ``interval`` and ``keep_latest_k`` mean what they do there."""

        always_stop: bool = False
        """Whether a notice also stops a run that would reach its end well before the deadline."""

    def __init__(  # noqa: PLR0913 - torchtitan's protocol
        self,
        config: Config,
        *,
        dataloader: Any,  # noqa: ANN401 - torchtitan ships no types
        model_parts: list[nn.Module],
        optimizers: Any,  # noqa: ANN401 - likewise
        lr_schedulers: Stateful,
        states: dict[str, Any],
        sd_adapter: Any,  # noqa: ANN401 - likewise
        base_folder: str = "",
    ) -> None:
        self.enable = config.enable
        self.save_future = None
        """None for good: ``save`` waits for the one before, and the end of the run for the last."""
        self._is_open = False
        if not self.enable:
            return
        _refuse(config, model_parts, len(optimizers))
        self._config = config
        self._parts: dict[str, Any] = {
            "dataloader": dataloader,
            "model_parts": model_parts,
            "optimizers": optimizers,
            "lr_schedulers": lr_schedulers,
            "states": {**states},
            "sd_adapter": sd_adapter,
        }
        self._folder = filesystem.join(base_folder, config.folder)
        self._until = int(states[TRAIN_STATE].config.training.steps)
        self._steps: Iterator[int] = iter(())
        self._hooks = TrainerHooks(
            TrainState(
                model=model_parts[0],
                optimizer=optimizers.optimizers[0],
                scheduler=lr_schedulers,
                scaler=None,
                data=_position_of(dataloader),
                extras=states,
            ),
            checkpoint_dir=self._folder,
            save_every=config.interval,
            keep=config.keep_latest_k or None,
            always_stop=config.always_stop,
        )

    def _load(self, step: int = -1) -> bool:
        """Restore the newest checkpoint, or begin from ``initial_load_path``; begin the first step.

        Raises:
            ConfigError: Another step is asked for than the newest that is whole.
        """
        self._hooks.__enter__()
        self._is_open = True
        if step not in {-1, self._hooks.step}:
            raise ConfigError(
                f"checkpoint.load_step={step}, and {self._folder} resumes at {self._hooks.step}: "
                "`reprieve-trainer checkpoints` shows what there is and quarantines newer ones"
            )
        is_loaded = self._hooks.step > 0
        if not is_loaded and (self._config.initial_load_path or self._config.initial_load_in_hf):
            is_loaded = self._load_initially()
        self._steps = self._hooks.steps(until=self._until)
        self._go_on()
        return is_loaded

    def _save(self, curr_step: int, last_step: bool = False) -> bool:  # noqa: FBT001, FBT002 - torchtitan's protocol
        """End a step, save it where one is due, and begin the next; or stop here with all ranks.

        Returns:
            Whether a save was due by the interval, or is the last one.

        Raises:
            ConfigError: Steps are not counted as torchtitan counts them.
        """
        if not self._is_open or curr_step != self._hooks.step + 1:
            raise ConfigError(
                f"torchtitan saves step {curr_step} and {self._folder} is at {self._hooks.step}: "
                "load comes first, and every step is told once"
            )
        self._go_on()
        return last_step or curr_step % self._config.interval == 0

    def _maybe_wait_for_staging(self) -> None:
        """Do nothing: ``save`` has staged when it returns."""

    def _wait_for_saving(self) -> None:
        """Never called, as ``save_future`` is None."""

    def _close(self) -> None:
        """Commit the save in flight, where the training ended in another way than by its steps.

        torchtitan calls it while it handles an exception, which then is the reason.
        """
        self._leave()

    def _go_on(self) -> None:
        """Go to the next step; where there is none leave the block, and the process if stopped."""
        if next(self._steps, None) is None:
            self._leave()

    def _leave(self) -> None:
        if self._is_open:
            self._is_open = False
            self._hooks.__exit__(*sys.exc_info())

    def _load_initially(self) -> bool:
        """Load a model that another training has made, the way torchtitan does."""
        common = {one.name: getattr(self._config, one.name) for one in _COMMON}
        # In a folder that is not there, so that nothing else is found than the path.
        common |= {"folder": "nothing", "keep_latest_k": 0, "load_step": -1}
        config = CheckpointManager.Config(**common)
        stock = config.build(**self._parts, base_folder=self._folder)
        return bool(stock.load(-1))


_COMMON = [one for one in fields(BaseCheckpointManager.Config) if not one.name.startswith("_")]


class _Position:
    """The position of torchtitan's data, without the pickle that torchtitan wraps it into."""

    def __init__(self, loader: StatefulDataLoader) -> None:
        self._loader = loader

    def state_dict(self) -> dict[str, Any]:
        return dict(StatefulDataLoader.state_dict(self._loader))

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        StatefulDataLoader.load_state_dict(self._loader, state_dict)


def _position_of(dataloader: Any) -> OfEachRank | None:  # noqa: ANN401 - torchtitan ships no types
    if dataloader is None:
        return None
    if not isinstance(dataloader, StatefulDataLoader):
        return OfEachRank(dataloader)
    if dataloader.generator is None:
        # Of its own, or it would draw from the training's random numbers as it begins.
        dataloader.generator = torch.Generator()
    return OfEachRank(_Position(dataloader))


def _refuse(
    config: HooksCheckpointer.Config, model_parts: list[nn.Module], optimizers: int
) -> None:
    for name, instead in _UNSUPPORTED.items():
        if getattr(config, name):
            raise ConfigError(f"checkpoint.{name} is not supported here: {instead}")
    if not config.initial_load_model_only and config.initial_load_path:
        raise ConfigError(
            "checkpoint.initial_load_model_only=False would begin at another step than 0, which "
            "only a checkpoint in the folder itself can: begin from the model alone"
        )
    if len(model_parts) != 1 or optimizers != 1:
        raise ConfigError(
            f"this rank has {len(model_parts)} model parts and {optimizers} optimizers: one of "
            "each is supported, so one stage a rank in a pipeline, and one kind of optimizer"
        )
