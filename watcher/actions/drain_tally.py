"""Counts what has become of the pods of a drain, for people to see."""

from collections.abc import Mapping

from watcher.actions.drain_calls import DrainCalls, name_of
from watcher.actions.drain_plan import DrainPlan
from watcher.actions.node_board import PodsSeen
from watcher.notice import Moment


class DrainTally:
    """Remembers every pod of one drain since the daemon was started."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def count(self, plan: DrainPlan, calls: DrainCalls, at: Moment) -> PodsSeen:
        """Return how the drain stands after what the plan asks has been asked."""
        staying = {ask.pod.uid: ask.pod for ask in plan.asks if ask.pod.ends_at is None}
        staying |= {held.pod.uid: held.pod for held in plan.held}
        there = staying.keys() | {pod.uid for pod in plan.ending}
        self._seen |= there
        return PodsSeen(
            at=at,
            to_evict=len(staying),
            evicted=len(self._seen) - len(staying),
            gone=len(self._seen) - len(there),
            held={name_of(one.pod): one.why for one in plan.held},
            blocked=_blocked(plan, calls),
            forced=tuple(sorted(calls.forced)),
        )


def _blocked(plan: DrainPlan, calls: DrainCalls) -> Mapping[str, str]:
    return {
        name_of(ask.pod): calls.blocked[ask.pod.uid]
        for ask in plan.asks
        if ask.pod.uid in calls.blocked
    }
