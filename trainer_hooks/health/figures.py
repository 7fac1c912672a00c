"""The figures that the training tells of each step: loss and gradient norm."""

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

import torch

from trainer_hooks.health.desk import Desk
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.health.leap import Leaps

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

    def see(self, step: int, figures: Mapping[Guard, Figure]) -> None:
        """Have figures of the step under way looked at soon. Waits for no device."""
        kept = {
            guard: figure.detach().clone() if isinstance(figure, torch.Tensor) else figure
            for guard, figure in figures.items()
        }
        self._desk.put(partial(self._look, step, kept))

    def _look(self, step: int, figures: Mapping[Guard, Figure], desk: Desk) -> None:
        for guard, figure in figures.items():
            wrong = self._leaps.setdefault(guard, Leaps()).look(float(figure))
            if wrong is None:
                continue
            rank = desk.world.rank
            first = desk.store.compare_set(f"health/{guard}/{step}", "", str(rank))
            if first.decode() == str(rank):
                text = f"{guard} of rank {rank} {wrong}"
                desk.publish(Finding(guard=guard, step=step, ranks=(rank,), text=text))
