"""TrainState: everything a resumed run needs to go on as if nothing had happened."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from trainer_hooks.errors import StateError
from trainer_hooks.leaves import join, split
from trainer_hooks.misfits import names_in, refuse_other_groups, refuse_other_kind
from trainer_hooks.of_each_rank import OfEachRank, Stateful
from trainer_hooks.placing import meshes_of
from trainer_hooks.rng import capture_rng
from trainer_hooks.untrusted import Json

MODEL = "model."
"""What the paths of the model's tensors begin with."""

_WITHOUT_UNUSED = StateDictOptions(strict=False)
"""A parameter that no loss has reached has no optimizer state, and may go on having none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of one rank at a step boundary: tensors by path, and the rest as JSON."""

    step: int
    """Steps finished, counted from 0 on the host."""
    tensors: dict[str, torch.Tensor]
    """Live tensors, not copies: staging copies them. Any shape, dtype and device."""
    leaves: dict[str, Json]
    """Component -> its state dict without tensors."""
    rng: dict[str, Json]
    """This rank's generators, at this boundary."""
    placing: Json = None
    """Where this rank stands, and for what is its own alone also which pieces it holds; to be
    compared, not to be read. None where nobody has looked."""


def placing_of(tensors: Mapping[str, torch.Tensor]) -> Json:
    """Return where this rank stands, by the tensors of its model."""
    return meshes_of(one for path, one in tensors.items() if path.startswith(MODEL))


@dataclass(kw_only=True)
class TrainState:
    """The components of a training run. One that does not exist is declared so with ``None``.

    A checkpoint without the optimizer, the schedule or the data position is a model export, and
    resuming from it trains another model; so each component must be named, and a checkpoint
    whose components differ from these is refused.
    """

    model: torch.nn.Module
    """The model, wrapped or not: keys are the parameters' own names under DDP and FSDP alike."""
    optimizer: torch.optim.Optimizer
    """The optimizer over the model's parameters."""
    scheduler: Stateful | None
    """Learning-rate schedule."""
    scaler: Stateful | None
    """Gradient scaler."""
    data: Stateful | None
    """Data position: a ResumableSampler, ``OfEachRank(StatefulDataLoader(...))``, or None for data
    that has none."""
    extras: Mapping[str, Stateful] = field(default_factory=dict)
    """Anything else with a state (EMA, fp32 masters), equal on all ranks, sharded by DTensor, or
    wrapped in ``OfEachRank``. examples/extras.py has some."""
    seed: int = 0
    """Seeds the generators anew when another number of ranks resumes a checkpoint, or the same in
    another mesh. Those that share a rank of the ResumableSampler in ``data`` draw alike then."""
    has_stepped: bool = field(default=False, init=False)
    """True once the optimizer has stepped or was restored: no capture is right before that."""

    def __post_init__(self) -> None:
        # get_optimizer_state_dict steps an optimizer that never has, with zero gradients, and
        # AdamW remembers it (trainer-facts 8.10, 2026-11-30).
        self.optimizer.register_step_post_hook(self._note_step)

    def capture(self, step: int) -> Snapshot:
        """Take the state at the boundary after ``step`` steps. All ranks call it.

        RNG comes first: a ``state_dict`` may draw random numbers.

        Raises:
            StateError: Something cannot be captured; named by its path.
        """
        if not self.has_stepped:
            raise StateError("the optimizer has not stepped yet: there is nothing to capture")
        rng = capture_rng()
        tensors, leaves = self._collect(self._others())
        return Snapshot(
            step=step, tensors=tensors, leaves=leaves, rng=rng, placing=placing_of(tensors)
        )

    def template(self) -> dict[str, torch.Tensor]:
        """Return the tensors to load into. All ranks call it.

        It disturbs an optimizer that has not stepped: do nothing next but ``restore``.
        """
        return self._collect(self._alike())[0]

    def restore(
        self,
        tensors: Mapping[str, torch.Tensor],
        leaves: Mapping[str, Json],
        own: Mapping[str, Json] | None = None,
    ) -> None:
        """Set every component but RNG. All ranks call it.

        Args:
            tensors: Loaded into what ``template`` gave.
            leaves: What is the same on all ranks.
            own: This rank's own, if as many ranks wrote the checkpoint, and stood as they do now.

        Raises:
            StateError: The checkpoint has other components than this state, or another model, or
                a component of each rank and was written by ranks that stood otherwise.
        """
        ours = {"model", "optimizer", *self._others()}
        if ours != set(leaves):
            raise StateError(
                f"the checkpoint's components and this state's differ: only in the checkpoint "
                f"{sorted(set(leaves) - ours)}, only here {sorted(ours - set(leaves))}"
            )
        of_each = self._others().keys() - self._alike().keys()
        mine = {name: self._own(name, own) for name in sorted(of_each)}
        state = {name: join(mine.get(name, leaf), tensors) for name, leaf in leaves.items()}
        try:
            set_model_state_dict(self.model, state["model"])  # type: ignore[arg-type]  # a dict by construction
        except RuntimeError as error:
            raise StateError(f"the checkpoint is of another model: {error}") from error
        self._restore_optimizer(state["optimizer"])  # type: ignore[arg-type]  # likewise
        if self.scheduler is not None:
            theirs: Mapping[str, object] = state["scheduler"]  # type: ignore[assignment]  # likewise
            refuse_other_kind("schedule", self.scheduler.state_dict().keys(), theirs.keys())
        for name, component in self._others().items():
            component.load_state_dict(state[name])  # type: ignore[arg-type]  # likewise
        self.has_stepped = True

    def keeps_of_each_rank(self, component: object) -> bool:
        """Tell whether a component is part of the state, with another state on each rank."""
        others = self._others().values()
        return any(isinstance(one, OfEachRank) and one.component is component for one in others)

    def _restore_optimizer(self, theirs: dict[str, Any]) -> None:
        ours: Mapping[str, Any] = get_optimizer_state_dict(self.model, self.optimizer)
        refuse_other_kind("optimizer", names_in(ours), names_in(theirs))
        refuse_other_groups(ours["param_groups"], theirs["param_groups"])
        set_optimizer_state_dict(self.model, self.optimizer, theirs, options=_WITHOUT_UNUSED)

    def _own(self, name: str, own: Mapping[str, Json] | None) -> Json:
        if own is None or name not in own:
            raise StateError(
                f"{name} is another one on each rank and another number of ranks wrote this "
                "checkpoint, or they stood otherwise in their mesh: start as many as it was, and "
                "laid out as they were, or let a ResumableSampler keep the data position, which "
                "is the same for any number"
            )
        return own[name]

    def _collect(
        self, others: Mapping[str, Stateful]
    ) -> tuple[dict[str, torch.Tensor], dict[str, Json]]:
        states: dict[str, object] = {
            "model": get_model_state_dict(self.model),
            "optimizer": get_optimizer_state_dict(self.model, self.optimizer),
        }
        states |= {name: component.state_dict() for name, component in others.items()}
        tensors: dict[str, torch.Tensor] = {}
        try:
            leaves = {name: split(name, value, tensors) for name, value in states.items()}
        except RecursionError as error:
            raise StateError("a state_dict() holds itself, or levels without end") from error
        return tensors, leaves

    def _others(self) -> dict[str, Stateful]:
        named = {"scheduler": self.scheduler, "scaler": self.scaler, "data": self.data}
        present = {name: component for name, component in named.items() if component is not None}
        return present | {f"extras.{name}": extra for name, extra in self.extras.items()}

    def _alike(self) -> dict[str, Stateful]:
        """Return the components whose state is the same on all ranks, or sharded by DTensor."""
        others = self._others().items()
        return {name: one for name, one in others if not isinstance(one, OfEachRank)}

    def _note_step(self, *_: object) -> None:
        self.has_stepped = True
