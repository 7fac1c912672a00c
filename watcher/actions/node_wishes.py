"""Which notices want what of the Node, and until when.

A notice that may come to nothing, such as a rebalance recommendation, wants it only for a time.
That is counted from when it came in force, and noted on the Node: a daemon that was started again,
and hears the notice as if it were new, goes by what is there.
"""

from collections.abc import Callable, Collection, Iterator

from watcher.actions.node_plan import Step, Wanted
from watcher.actions.node_state import NodeState
from watcher.notice import Deadline, Moment, Standing
from watcher.state import State


class NodeWishes:
    """What is wanted of the Node, by whichever notice in force.

    Args:
        state: Which notices are in force.
        boot_id: This boot's.
        now: Reads both clocks.
    """

    def __init__(self, state: State, boot_id: str, now: Callable[[], Moment]) -> None:
        self.boot_id = boot_id
        self._state = state
        self._now = now
        self._notices: dict[Step, set[str]] = {step: set() for step in Step}
        self._has_taken_in = False
        self._left: tuple[str | None, Deadline] | None = None
        self._watched: tuple[Deadline, ...] = ()

    def want(self, step: Step, notice_id: str) -> None:
        """Want this done for a notice."""
        self._notices[step].add(notice_id)

    def drop(self, step: Step, notice_id: str) -> None:
        """Want it no longer for that notice; one that has its id later is another."""
        self._notices[step].discard(notice_id)
        if self._left is not None and self._left[0] == notice_id:
            self._left = None

    def in_force(self) -> tuple[Standing, ...]:
        """Return the notices in force, the most urgent first, whatever they want."""
        return self._state.in_force()

    def answers(self, notice_ids: Collection[str]) -> str:
        """Return how soon the first of these notices was answered, for people; empty if unknown."""
        ours = (one for one in self._state.entries() if one.standing.notice.id in notice_ids)
        stages = next((one.stages for one in ours if one.stages), {})
        return ", ".join(f"{stage} after {after_s:.2f} s" for stage, after_s in stages.items())

    def wanted(self) -> Wanted:
        """Return what is wanted, each for the most urgent notice in force that still wants it."""
        found = {}
        for standing in reversed(tuple(self._wishing())):
            for step, notices in self._notices.items():
                if standing.notice.id in notices:
                    found[step] = standing
        return found

    def expiry(self) -> Deadline | None:
        """Return when nothing will be wanted any more; None where that is not known."""
        ends = [self.end_of(standing) for standing in self._wishing()]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return None
        return max(known, key=lambda end: end.boottime_s, default=None)

    def end_of(self, standing: Standing) -> Deadline | None:
        """Return until when a notice wants anything; None for as long as it is in force."""
        if standing.expires is None or self._left is None:
            return standing.expires
        name, left = self._left
        is_same = name == standing.notice.id and left.boottime_s < standing.expires.boottime_s
        return left if is_same else standing.expires

    def ends(self) -> tuple[Deadline, ...]:
        """Return every instant at which less will be wanted; for :meth:`watch`."""
        ends = (self.end_of(standing) for standing in self._wishing())
        return tuple(end for end in ends if end is not None)

    def watch(self, ends: tuple[Deadline, ...]) -> None:
        """Be overdue when one of them has come: the Node has been settled for what was before."""
        self._watched = ends

    @property
    def is_overdue(self) -> bool:
        """Whether the Node is still as something wanted it that has come to its end."""
        return any(map(self._is_over, self._watched))

    @property
    def needs_what_was_left(self) -> bool:
        """Whether only the Node can say until when something is wanted."""
        return not self._has_taken_in and any(one.expires is not None for one in self._wishing())

    def take_in(self, left: NodeState | None) -> None:
        """Take in, once, what an earlier run of the daemon in this boot has noted on the Node."""
        if self._has_taken_in:
            return
        self._has_taken_in = True
        if left is not None and left.boot_id == self.boot_id and left.expires is not None:
            now = self._now()
            end = Deadline.after(now, (left.expires - now.wall).total_seconds())
            self._left = (left.notice.get("id"), end)
            # Also where nobody says so any more, because the settings have changed meanwhile.
            self._watched = (*self._watched, end)

    def _wishing(self) -> Iterator[Standing]:
        """Yield the notices in force that want anything still, the most urgent first."""
        wishing = set().union(*self._notices.values())
        for standing in self._state.in_force():
            end = self.end_of(standing)
            if standing.notice.id in wishing and not (end is not None and self._is_over(end)):
                yield standing

    def _is_over(self, end: Deadline) -> bool:
        return end.left_s(self._now()) == 0
