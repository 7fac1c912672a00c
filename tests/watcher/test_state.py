"""Which notices are in force, and what is remembered of the others."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.clocks import START
from watcher.notice import CLOCK_SLACK_S, Deadline, Moment, Notice, NoticeKind, Standing
from watcher.policy import stand
from watcher.state import PAST_LIMIT, Entry, State


def spot(name: str, left_s: float = 120) -> Standing:
    """Build a stop notice that stands."""
    deadline = Deadline.after(START, left_s)
    return stand(
        Notice(
            id=name, kind=NoticeKind.PREEMPTION, source="test", received=START, deadline=deadline
        )
    )


def test_state_admits_once_when_the_id_is_in_force() -> None:
    """A duplicate is nobody's news; after a withdrawal the same id is."""
    state = State()
    assert state.admit(spot("a"), START) is not None
    assert state.admit(spot("a"), START) is None
    assert state.retire(spot("a").notice, START) is not None
    assert state.retire(spot("a").notice, START) is None
    assert state.admit(spot("a"), START) is not None


def test_state_lists_the_most_urgent_first_when_asked() -> None:
    """Order of arrival does not matter."""
    state = State()
    advice = stand(Notice(id="r", kind=NoticeKind.REBALANCE, source="test", received=START))
    for standing in (advice, spot("late", 90), spot("early", 30)):
        state.admit(standing, START)
    assert [one.notice.id for one in state.in_force()] == ["early", "late", "r"]


def test_state_forgets_the_oldest_when_the_past_grows() -> None:
    """A daemon that runs for a year does not grow; what is in force is never forgotten."""
    state = State()
    state.admit(spot("kept"), START)
    for number in range(PAST_LIMIT + 10):
        state.admit(spot(str(number)), START)
        state.retire(spot(str(number)).notice, START)
    names = [entry.standing.notice.id for entry in state.entries()]
    assert len(names) == PAST_LIMIT + 1
    assert names[:2] == ["kept", str(PAST_LIMIT + 9)]


def test_state_keeps_a_plan_out_of_force_when_it_is_not_admitted() -> None:
    """Planned once, in force once, and known to nobody as in force in between."""
    state = State()
    assert state.plan(spot("a"), START) is not None
    assert state.plan(spot("a"), START) is None
    assert (state.in_force(), state.planned()) == ((), (spot("a"),))
    entry = state.admit(spot("a"), START)
    assert entry is not None
    assert not entry.is_planned
    assert (state.in_force(), state.planned()) == ((spot("a"),), ())
    assert state.plan(spot("a"), START) is None


def test_state_remembers_a_plan_as_past_when_it_is_taken_back() -> None:
    """People who look later see that it was known, and what has become of it."""
    state = State()
    state.plan(spot("a"), START)
    entry = state.retire(replace(spot("a").notice, outcome="over"), START)
    assert entry is not None
    assert (entry.is_planned, entry.outcome) == (True, "over")
    assert list(state.entries()) == [entry]
    assert state.planned() == ()


@pytest.mark.parametrize("put", [State.admit, State.plan])
def test_state_corrects_the_deadline_when_it_is_clearly_earlier(
    put: Callable[[State, Standing, Moment], Entry | None],
) -> None:
    """The same entry, with all that was done about it; never later, and not by mere jitter."""
    state = State()
    entry = put(state, spot("a"), START)
    assert put(state, spot("a", 120 - CLOCK_SLACK_S), START) is None
    assert put(state, spot("a", 500), START) is None
    assert put(state, spot("a", 30), START) is entry
    assert (state.in_force() or state.planned()) == (spot("a", 30),)


def test_state_keeps_the_notice_when_what_is_taken_back_is_an_earlier_one() -> None:
    """Announced anew and withdrawn in one step: the withdrawal names the older announcement."""
    state, first = State(), spot("a").notice
    again = replace(first, received=Moment(START.wall, START.boottime_s + 1))
    state.plan(stand(first), START)
    assert state.plan(stand(again), START) is None
    assert state.retire(first, START) is None
    state.admit(stand(first), START)
    assert state.retire(first, START) is None
    assert [one.notice.id for one in state.in_force()] == ["a"]
    assert state.retire(again, START) is not None
