"""Has the control plane end whoever is still on the Node, when nobody has a reason left to stay.

The taint's effect is hard: every pod that does not tolerate it is deleted at once, whatever its
budget says and with its own grace, and pods of DaemonSets are no exception. So it comes last.
"""

from watcher.actions.last_turn import LastTurn
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_plan import EFFECTS, Step
from watcher.actions.node_state import Done
from watcher.actions.node_steps import NodeStep
from watcher.kube.keys import RECLAIM
from watcher.kube.objects import Node
from watcher.notice import Standing


class NoExecute(NodeStep):
    """Adds our taint a second time, with the effect that ends pods.

    Args:
        desk: Who keeps the Node.
        turn: Tells when it is time; nobody else asks it.
    """

    step = Step.NO_EXECUTE

    def __init__(self, desk: NodeDesk, turn: LastTurn) -> None:
        super().__init__(desk)
        self._turn = turn

    async def run(self, standing: Standing, /) -> str:
        """Add it when it is time; see :class:`base.Action`.

        Raises:
            ActionWaiting: It is not.
            ActionError: As for every step.
        """
        await self._turn.require(standing)
        return await super().run(standing)

    async def undo(self, standing: Standing, /) -> str:
        """Take it off unless another notice wants it; what was ended stays so."""
        self._turn.forget()
        return await super().undo(standing)

    def _said(self, node: Node, done: Done) -> str:
        if done.no_execute is None:
            return f"{node.name} had the taint {RECLAIM} with {EFFECTS[self.step]} before"
        return f"tainted {node.name} with {RECLAIM}={done.no_execute}:{EFFECTS[self.step]}"

    def _unsaid(self, node: Node) -> str:
        return f"{node.name} has no taint {RECLAIM} of ours that ends pods"
