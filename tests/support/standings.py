"""Notices in force, as the actions see them."""

from tests.support.clocks import START
from watcher.notice import Deadline, Notice, NoticeKind, Standing
from watcher.policy import stand
from watcher.state import State


def in_force(
    name: str = "spot-1", kind: NoticeKind = NoticeKind.PREEMPTION, *, left_s: float = 120
) -> Standing:
    """Return a notice as it stands under the policy."""
    deadline = Deadline.after(START, left_s)
    return stand(
        Notice(id=name, kind=kind, source="test", received=START, deadline=deadline, action="stop")
    )


def admitted(state: State, *standings: Standing) -> None:
    """Put notices in force, as the responder does before any action runs."""
    for standing in standings:
        assert state.admit(standing, START) is not None


def withdrawn(state: State, standing: Standing) -> None:
    """Take a notice out of force, as the responder does before any action is undone."""
    assert state.retire(standing.notice, START) is not None
