"""Says on the Node what is coming: in an annotation, a condition, and an Event for each notice."""

from collections.abc import Callable

from watcher.actions.kube_errors import as_action_error
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_plan import Step
from watcher.kube.client import KubeClient
from watcher.kube.events import NodeEvent, tell
from watcher.kube.keys import CONDITION
from watcher.kube.objects import Node
from watcher.notice import Moment, Standing, rfc3339


class NodeMark:
    """Marks the Node for people and controllers; the annotation comes with the desk's one patch.

    Args:
        desk: Who keeps the Node.
        client: Where Events go.
        now: Reads both clocks.
    """

    name = Step.MARK.value

    def __init__(self, desk: NodeDesk, client: KubeClient, now: Callable[[], Moment]) -> None:
        self._desk = desk
        self._client = client
        self._now = now

    async def run(self, standing: Standing, /) -> str:
        """Mark the Node; see :class:`base.Action`.

        Raises:
            ActionRetryable: The API server can't be reached, or is busy.
            ActionRefused: The daemon may not do it, or the Node is another machine's.
            ActionDryRun: It would have been done.
        """
        self._desk.want(Step.MARK, standing.notice.id)
        node, _ = await self._desk.settle()
        if Step.MARK not in self._desk.wanted():
            return self._desk.require_stored(f"{node.name} is not marked any more")
        await self._desk.show(self._condition)
        await self._tell(node, standing, is_over=False)
        return self._desk.require_stored(f"marked {node.name}")

    async def undo(self, standing: Standing, /) -> str:
        """Take the mark off unless another notice wants it; raises as :meth:`run` does."""
        self._desk.drop(Step.MARK, standing.notice.id)
        node, _ = await self._desk.settle()
        await self._desk.show(self._condition)
        await self._tell(node, standing, is_over=True)
        return self._desk.require_stored(f"{node.name} says that the notice is withdrawn")

    def _condition(self, first: Standing) -> dict[str, str]:
        return {
            "type": CONDITION,
            "status": "True",
            "reason": _camel(first.notice.kind.value),
            "message": _message(first),
            "lastHeartbeatTime": _seconds(self._now()),
            "lastTransitionTime": _seconds(first.notice.received),
        }

    async def _tell(self, node: Node, standing: Standing, *, is_over: bool) -> None:
        said = _message(standing) + (": withdrawn" if is_over else "")
        event = NodeEvent(
            key=f"{self._desk.boot_id}/{standing.notice.id}/{'over' if is_over else 'pending'}",
            reason="ReclaimWithdrawn" if is_over else CONDITION,
            message="; ".join(filter(None, (said, self._desk.answers(standing.notice.id)))),
            is_warning=not is_over,
            at=_seconds(self._now()),
        )
        with as_action_error():
            await tell(self._client, node, event)


def _message(standing: Standing) -> str:
    notice = standing.notice
    until = rfc3339(standing.counts_until.wall)
    said = f"the cloud's word is {notice.action}" if notice.action else "no word of the cloud's"
    return f"{notice.kind} until {until} ({said}; notice {notice.id}, heard by {notice.source})"


def _seconds(moment: Moment) -> str:
    return rfc3339(moment.wall.replace(microsecond=0))


def _camel(word: str) -> str:
    return "".join(part.capitalize() for part in word.split("_"))
