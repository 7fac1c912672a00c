"""A stop that is planned by what ranks publish, and an end that may be called off."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.agreeing import Rank, notice, ranks, rounds, start, stop_step, wait_for_step
from tests.support.published import figures
from tests.support.waiting import wait_until
from trainer_hooks.at_stop import AtStop
from trainer_hooks.clock import boottime_s
from trainer_hooks.decision import Outcome

NEARER_S = [pytest.approx(40.0, abs=9), pytest.approx(20.0, abs=9)]


def end_in_sight(world: Sequence[Rank]) -> None:
    """Let all say that they are a moment from their end."""
    for rank in world:
        rank.until = 100_000
        rank.figures = figures(step_s=1e-6, until=rank.until)


def test_all_go_on_when_their_end_is_near_and_stop_when_the_deadline_is_nearer() -> None:
    """The same notice with an earlier deadline, heard on one node, calls the end off for all."""
    with ranks(3) as world:
        end_in_sight(world)
        start(world)
        wait_for_step(world, 3)
        world[1].tell(notice("moving", left_s=120.0))
        wait_until(lambda: rounds(world) == [1, 1, 1])
        wait_for_step(world, max(rank.step for rank in world) + 5)
        assert {rank.agreement.stop and rank.agreement.stop.outcome for rank in world} == {
            Outcome.END
        }
        world[1].tell(notice("moving", left_s=2.5))
        stop_step(world)
        for rank in world:
            assert rank.agreement.stop is not None
            assert rank.agreement.stop.at_stop is AtStop.EMERGENCY
            assert [outcome for outcome, _ in rank.changes] == [Outcome.END, Outcome.STOP]


def test_stop_is_planned_by_the_notices_window_when_it_has_no_deadline() -> None:
    """Told by the rank that heard it."""
    with ranks(2) as world:
        for rank in world:
            rank.figures = figures(step_s=1e-6)
        start(world)
        wait_for_step(world, 3)
        world[1].tell(replace(notice("unknown", left_s=None), window_s=600.0))
        stop_step(world)
        assert world[0].agreement.stop is not None
        assert "usable_s=598.0 (assumed)" in world[0].agreement.stop.why
        assert world[0].agreement.deadline_s is None


def test_nothing_is_to_stop_when_the_notice_is_withdrawn_before_the_end() -> None:
    """A run that goes on to its end has no deadline any more."""
    with ranks(2) as world:
        end_in_sight(world)
        start(world)
        wait_for_step(world, 3)
        world[0].tell(notice("passing", left_s=120.0))
        wait_until(lambda: rounds(world) == [1, 1])
        world[0].tell(None)
        wait_until(lambda: rounds(world) == [2, 2])
        assert [rank.agreement.stop for rank in world] == [None, None]
        world[1].tell(notice("other", left_s=None))
        stop_step(world)


def test_nothing_is_to_stop_when_only_advice_is_left_of_a_notice() -> None:
    """It was withdrawn all the same, and with it goes its deadline."""
    with ranks(2) as world:
        end_in_sight(world)
        start(world)
        wait_for_step(world, 3)
        world[0].tell(notice("passing", left_s=120.0))
        wait_until(lambda: rounds(world) == [1, 1])
        world[0].tell(notice("advice", is_stop=False))
        wait_until(lambda: rounds(world) == [2, 2])
        assert [rank.changes[-1][0] for rank in world] == [None, None]
        assert [rank.agreement.stop for rank in world] == [None, None]


def test_ranks_stop_when_a_notice_that_was_withdrawn_is_told_again() -> None:
    """With the same id, and by then the end is too far for it."""
    with ranks(2) as world:
        end_in_sight(world)
        start(world)
        wait_for_step(world, 3)
        world[0].tell(notice("on and off", left_s=120.0))
        wait_until(lambda: rounds(world) == [1, 1])
        world[0].tell(None)
        wait_until(lambda: rounds(world) == [2, 2])
        world[0].tell(notice("on and off", left_s=2.5))
        stop_step(world)


@pytest.mark.parametrize("left_s", [60.0, None])
def test_all_leave_sooner_when_a_nearer_deadline_is_heard_after_the_stop(
    left_s: float | None,
) -> None:
    """By one rank alone, while another hangs: who stayed would wait for one that has to go."""
    with ranks(3) as world:
        release = threading.Event()
        world[1].in_step = lambda step: release.wait(20) if step == 4 else None  # type: ignore[assignment]  # nobody looks
        start(world)
        wait_for_step(world, 4)
        world[0].tell(notice("stop", left_s=left_s))
        wait_until(lambda: rounds(world) == [1, 1, 1])
        world[2].tell(notice("sooner", left_s=40.0))
        wait_until(lambda: rounds(world) == [2, 2, 2])
        world[0].tell(notice("later", left_s=50.0))
        world[0].tell(notice("soonest", left_s=20.0))
        wait_until(lambda: rounds(world) == [3, 3, 3])
        for rank in world:
            told_s = [deadline_s and deadline_s - boottime_s() for _, deadline_s in rank.changes]
            assert told_s == [left_s and pytest.approx(left_s, abs=10), *NEARER_S]
        release.set()
        stop_step(world)


def test_no_more_is_told_when_a_deadline_that_is_heard_after_the_stop_has_passed() -> None:
    """It means now, for all: told once, and not again and again until all have left."""
    with ranks(2) as world:
        release = threading.Event()
        world[1].in_step = lambda step: release.wait(20) if step == 4 else None  # type: ignore[assignment]  # nobody looks
        start(world)
        wait_for_step(world, 4)
        world[0].tell(notice("stop", left_s=60.0))
        wait_until(lambda: rounds(world) == [1, 1])
        world[1].tell(notice("past", left_s=-100.0))
        wait_until(lambda: rounds(world) == [2, 2])
        world[0].tell(notice("later", left_s=-50.0))
        world[1].tell(notice("soon", left_s=30.0))
        release.set()
        stop_step(world)
        assert rounds(world) == [2, 2]
