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
        self._counted: set[Guard] = set()

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
            if guard not in self._counted:
                self._counted.add(guard)
                desk.store.add(_looking(guard), 1)
            if wrong is not None:
                self._left_step[guard] = step
                desk.store.add(_away(guard, step), 1)
                text = f"{guard} of rank {desk.world.rank} {wrong}"
                # A chance batch is nobody's fault.
                leap = Finding(guard=guard, step=step, ranks=(), is_certain=False, text=text)
                _tell(leap, desk)
            elif leaps.away == STAYS:
                _tell(_stay(guard, step, self._left_step[guard], desk), desk)


def _stay(guard: Guard, step: int, left: int, desk: Desk) -> Finding:
    """Return that a figure stays away, and whether it does on this rank alone.

    The others have had some steps for saying that theirs has left too. One that looks at none, as
    where rank 0 tells the loss of all, could not say so: then nobody is known to be at fault.
    """
    world, rank = desk.world, desk.world.rank
    all_look = desk.store.add(_looking(guard), 0) == world.size > 1
    is_alone = all_look and desk.store.add(_away(guard, left), 0) == 1
    where = ", and no other rank's" if is_alone else ""
    return Finding(
        guard=guard,
        step=step,
        ranks=(),
        is_certain=is_alone,
        good_step=left - 1,
        text=f"{guard} of rank {rank}{where} has been away for {STAYS} values, since step {left}",
    )


def _looking(guard: Guard) -> str:
    return f"health/{guard}/looking"


def _away(guard: Guard, step: int) -> str:
    return f"health/{guard}/away/{step}"


def _tell(finding: Finding, desk: Desk) -> None:
    """Tell the others, unless one of them has seen it in the same step."""
    rank = desk.world.rank
    what = "leaps" if finding.good_step is None else "stays"
    key = f"health/{finding.guard}/{what}/{finding.step}"
    if desk.store.compare_set(key, "", str(rank)).decode() == str(rank):
        desk.publish(replace(finding, ranks=(rank,)))
