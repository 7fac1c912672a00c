"""Asks whoever replaces Nodes for another one, in words that he reads.

What reads them may end the machine within minutes and waits for nobody. So it comes last, when all
have saved.
"""

from watcher.actions.last_turn import LastTurn
from watcher.actions.node_asking import Asked
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_plan import Step
from watcher.errors import ActionRefused
from watcher.notice import Standing, rfc3339


class NodeReplacement:
    """Puts the label or the condition on that is set, once for a notice.

    Args:
        desk: Who keeps the Node.
        turn: Tells when it is time; nobody else asks it.
    """

    name = Step.REPLACE.value

    def __init__(self, desk: NodeDesk, turn: LastTurn) -> None:
        self._desk = desk
        self._turn = turn

    async def run(self, standing: Standing, /) -> str:
        """Ask when it is time; see :class:`base.Action`.

        Raises:
            ActionWaiting: It is not.
            ActionRetryable: The API server can't be reached, or is busy.
            ActionRefused: The daemon may not do it, or the Node is another machine's.
            ActionDryRun: It would have been done.
        """
        await self._turn.require(standing)
        self._desk.want(Step.REPLACE, standing.notice.id)
        await self._desk.settle()  # what an earlier run has asked is left as it is
        try:
            asked = (await self._desk.ask(_condition)).asked
        except ActionRefused:
            self._desk.drop(Step.REPLACE, standing.notice.id)
            raise
        name = self._desk.api.name
        if Step.REPLACE not in self._desk.wanted():
            return self._desk.require_stored(f"not wanted any more: {_unasked(name)}")
        if asked is None:
            return self._desk.require_stored(
                f"somebody else has asked for another Node than {name}"
            )
        said = f"asked for another Node than {name}: {asked.place} {asked.key}={asked.value}"
        return self._desk.require_stored(said)

    async def undo(self, standing: Standing, /) -> str:
        """Take it back unless another notice wants it; raises as :meth:`run` does."""
        self._turn.forget()
        self._desk.drop(Step.REPLACE, standing.notice.id)
        await self._desk.settle()
        if Step.REPLACE in self._desk.wanted():
            return "stays: another notice wants it"
        return self._desk.require_stored(_unasked(self._desk.api.name))


def _unasked(name: str) -> str:
    return f"another Node than {name} is not asked for by us"


def _condition(asked: Asked, standing: Standing) -> dict[str, str]:
    notice = standing.notice
    since = rfc3339(notice.received.wall.replace(microsecond=0))
    said = notice.detail.get("text") or f"a notice of kind {notice.kind}"
    return {
        "type": asked.key,
        "status": asked.value,
        "reason": "ReprieveAsksForReplacement",
        "message": f"{said} (notice {notice.id}, heard by {notice.source})",
        "lastHeartbeatTime": since,
        "lastTransitionTime": since,
    }
