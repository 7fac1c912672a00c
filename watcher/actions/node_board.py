"""What is known of the Node and of its drain, for people to see; nothing is decided by it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from watcher.actions.node_plan import left_on
from watcher.kube.keys import RECLAIM
from watcher.kube.objects import Node
from watcher.notice import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """The Node at the last look at it."""

    at: Moment
    name: str
    is_unschedulable: bool
    is_cordoned_by_us: bool
    """Whether that is our doing, by what is noted on the Node itself."""
    taints: tuple[str, ...]
    """Ours, as ``value:effect``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsSeen:
    """The pods that the drain is about, at its last look at them."""

    at: Moment
    to_evict: int
    """How many are not ending: not asked yet, or in vain. The held and the blocked are in it."""
    evicted: int
    """How many have been asked to end, by whomever; the gone are in it."""
    gone: int
    """How many of those that this run of the daemon has seen are there no more, or have ended."""
    held: Mapping[str, str]
    """By name why pods are left alone for now."""
    blocked: Mapping[str, str]
    """By name why pods could not be evicted when that was last asked."""
    forced: tuple[str, ...]
    """Who was deleted whatever the budgets said."""


class NodeBoard:
    """Where the source and the actions note what they see.

    Args:
        now: Reads both clocks.
    """

    def __init__(self, now: Callable[[], Moment]) -> None:
        self.node: NodeSeen | None = None
        self.pods: PodsSeen | None = None
        """None while nothing is to be drained."""
        self._now = now

    def note(self, node: Node) -> None:
        """Note the Node as it is now."""
        left = left_on(node)
        self.node = NodeSeen(
            at=self._now(),
            name=node.name,
            is_unschedulable=node.is_unschedulable,
            is_cordoned_by_us=left is not None and left.done.was_unschedulable is False,
            taints=tuple(
                f"{taint.get('value', '')}:{taint.get('effect', '')}"
                for taint in node.taints
                if taint.get("key") == RECLAIM
            ),
        )
