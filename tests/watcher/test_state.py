"""Which notices are in force, and what is remembered of the others."""

from tests.support.clocks import START
from watcher.notice import Deadline, Notice, NoticeKind, Standing
from watcher.policy import stand
from watcher.state import PAST_LIMIT, State


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
    assert state.retire("a", START) is not None
    assert state.retire("a", START) is None
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
        state.retire(str(number), START)
    names = [entry.standing.notice.id for entry in state.entries()]
    assert len(names) == PAST_LIMIT + 1
    assert names[:2] == ["kept", str(PAST_LIMIT + 9)]
