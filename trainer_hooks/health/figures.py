"""The figures that the training tells of each step: loss and gradient norm."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import torch

from trainer_hooks.health.desk import Desk
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.health.leap import STAYS, Leaps

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

    def see(self, step: int, figures: Mapping[Guard, Figure]) -> None:
        """Have figures of the step under way looked at soon. Waits for no device."""
        kept = {
            guard: figure.detach().clone() if isinstance(figure, torch.Tensor) else figure
            for guard, figure in figures.items()
        }
        self._desk.put(partial(self._look, step, kept))

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
