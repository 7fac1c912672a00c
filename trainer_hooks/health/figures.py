"""The figures that the training tells of each step: loss and gradient norm."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import torch

from trainer_hooks.health.desk import Desk
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.health.leap import STAYS, Leaps

log = logging.getLogger(__name__)

Figure: TypeAlias = float | torch.Tensor
"""A number, or a tensor that holds one, on any device."""


class Figures:
    """One rank's look at its own figures; the training thread tells them.

    No rank is asked for its opinion: what all have in common leaps on all, and the first to see it
    says so for them.

    Args:
        desk: Does the looking, and tells the others.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._leaps: dict[Guard, Leaps] = {}
        self._left_step: dict[Guard, int] = {}
        """The step in which each figure has left the others."""
        self._refused: set[Guard] = set()

    def see(self, step: int, figures: Mapping[Guard, Figure]) -> None:
        """Have figures of the step under way looked at soon. Waits for no device."""
        kept = {
            guard: one
            for guard, figure in figures.items()
            if (one := self._kept(guard, figure)) is not None
        }
        if kept:
            self._desk.put(partial(self._look, step, kept))

    def _kept(self, guard: Guard, figure: object) -> Figure | None:
        """Return a figure as it is now; None, and a warning once, for what is no number.

        What a user hands over by mistake must not end the thread that all guards share.
        """
        what = f"of type {type(figure).__name__}"
        if isinstance(figure, torch.Tensor):
            if figure.numel() == 1 and not figure.is_complex():
                return figure.detach().clone()  # waits for no device
            what = f"a tensor of {figure.numel()} values of {figure.dtype}"
        else:
            try:
                return float(figure)  # type: ignore[arg-type]  # what it can't take it refuses
            except (TypeError, ValueError, OverflowError):
                pass
        if guard not in self._refused:
            self._refused.add(guard)
            log.warning(
                "watch(%s=...) takes one real number, the mean of a batch say; it was given one %s "
                "and does not watch it",
                guard,
                what,
            )
        return None

    def _look(self, step: int, figures: Mapping[Guard, Figure], desk: Desk) -> None:
        for guard, figure in figures.items():
            leaps = self._leaps.setdefault(guard, Leaps())
            wrong = leaps.look(float(figure))
            text = f"{guard} of rank {desk.world.rank}"
            if wrong is not None:
                self._left_step[guard] = step
                _tell(Finding(guard=guard, step=step, ranks=(), text=f"{text} {wrong}"), desk)
            elif leaps.away == STAYS:
                left = self._left_step[guard]
                stays = f"{text} has been away for {STAYS} values, since step {left}"
                found = Finding(guard=guard, step=step, ranks=(), good_step=left - 1, text=stays)
                _tell(found, desk)


def _tell(finding: Finding, desk: Desk) -> None:
    """Tell the others, unless one of them has seen it in the same step."""
    rank = desk.world.rank
    what = "leaps" if finding.good_step is None else "stays"
    key = f"health/{finding.guard}/{what}/{finding.step}"
    if desk.store.compare_set(key, "", str(rank)).decode() == str(rank):
        desk.publish(replace(finding, ranks=(rank,)))
