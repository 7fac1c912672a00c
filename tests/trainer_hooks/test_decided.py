"""What a rank says of itself while decisions wait to be carried out."""

import pytest

from trainer_hooks.at_stop import AtStop, Figures
from trainer_hooks.decided import Decided
from trainer_hooks.decision import Decision, Outcome, Position, Published
from trainer_hooks.rule import decide

YOUNG = Figures(step_s=0.1, until=None, saves_s=(), in_flight_s=None)
"""Of a run that has not saved yet."""

SAVE = Decision(outcome=Outcome.SAVE, last=Position(1), causes=("advice",))


def stop_of(*figures: Figures | None) -> AtStop | None:
    """Return what is done at a stop in 30 s that finds ranks so, one in each place."""
    ranks = [
        Published(rank=rank, position=Position(1), figures=each)
        for rank, each in enumerate(figures)
    ]
    told = Published(
        rank=len(ranks),
        position=Position(1),
        figures=figures[0],
        notice_id="SIGTERM",
        is_stop=True,
        left_s=30.0,
    )
    return decide([*ranks, told]).at_stop


def test_save_counts_as_in_flight_when_it_is_decided_and_has_not_begun() -> None:
    """A stop right behind it waits for it: nobody knows yet how long one takes."""
    decided = Decided()
    assert decided.foreseen(YOUNG) == YOUNG
    assert stop_of(YOUNG) is AtStop.NONE
    decided.take(SAVE)
    ahead = decided.foreseen(YOUNG)
    assert stop_of(ahead) is AtStop.FINISH
    assert decided.at(Position(2)) == SAVE
    assert decided.foreseen(YOUNG) == YOUNG


@pytest.mark.parametrize("figures", [None, Figures(step_s=0.1, until=9, saves_s=(), in_flight_s=3)])
def test_figures_are_as_they_are_when_they_say_more(figures: Figures | None) -> None:
    """A save that is in flight has begun before, and a rank that does not train saves nothing."""
    decided = Decided()
    decided.take(SAVE)
    assert decided.foreseen(figures) == figures
