"""The steps of which the Node's patch is made, each an action of its own."""

from abc import ABC, abstractmethod

from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_plan import EFFECTS, Step
from watcher.actions.node_state import Done
from watcher.kube.keys import NO_LOAD_BALANCER, RECLAIM
from watcher.kube.objects import Node
from watcher.notice import Standing, rfc3339


class NodeStep(ABC):
    """Has one step done for each notice that wants it, and undone when none does any more.

    What was done, by whom and how the Node was before is noted on the Node itself, in the same
    patch; what others have done before us is left as it is.
    """

    step: Step

    def __init__(self, desk: NodeDesk) -> None:
        self.name = self.step.value
        self._desk = desk

    async def run(self, standing: Standing, /) -> str:
        """Do it; see :class:`base.Action`.

        Raises:
            ActionRetryable: The API server can't be reached, or is busy.
            ActionRefused: The daemon may not do it, or the Node is another machine's.
            ActionDryRun: It would have been done.
        """
        self._desk.want(self.step, standing.notice.id)
        node, done = await self._desk.settle()
        if self.step not in self._desk.wanted():
            return self._desk.require_stored(f"not wanted any more: {self._unsaid(node)}")
        end = self._desk.end_of(standing)
        until = f", until {rfc3339(end.wall)}" if end else ""
        return self._desk.require_stored(self._said(node, done) + until)

    async def undo(self, standing: Standing, /) -> str:
        """Undo it unless another notice wants it; raises as :meth:`run` does."""
        self._desk.drop(self.step, standing.notice.id)
        node, _ = await self._desk.settle()
        if self.step in self._desk.wanted():
            return "stays: another notice wants it"
        return self._desk.require_stored(self._unsaid(node))

    @abstractmethod
    def _said(self, node: Node, done: Done) -> str:
        """Return what was done, for people."""

    @abstractmethod
    def _unsaid(self, node: Node) -> str:
        """Return how the Node is now that it is undone, for people."""


class Cordon(NodeStep):
    """Keeps new pods off the Node."""

    step = Step.CORDON

    def _said(self, node: Node, done: Done) -> str:
        if done.was_unschedulable:
            return f"{node.name} was cordoned before, and stays so"
        return f"cordoned {node.name}"

    def _unsaid(self, node: Node) -> str:
        if node.is_unschedulable:
            return f"{node.name} stays cordoned: it was so before"
        return f"uncordoned {node.name}"


class Taint(NodeStep):
    """Keeps pods off the Node that a cordon does not, and shows why."""

    step = Step.TAINT

    def _said(self, node: Node, done: Done) -> str:
        if done.taint is None:
            return f"{node.name} had the taint {RECLAIM} before, and keeps it"
        return f"tainted {node.name} with {RECLAIM}={done.taint}:{EFFECTS[self.step]}"

    def _unsaid(self, node: Node) -> str:
        return f"{node.name} has no taint {RECLAIM} of ours"


class ExcludeFromLoadBalancers(NodeStep):
    """Takes the Node out of load balancers, so that connections are drained before pods end."""

    step = Step.EXCLUDE

    def _said(self, node: Node, done: Done) -> str:
        if not done.is_excluded:
            return f"{node.name} had the label {NO_LOAD_BALANCER} before, and keeps it"
        return f"labelled {node.name} with {NO_LOAD_BALANCER}"

    def _unsaid(self, node: Node) -> str:
        return f"{node.name} has no label {NO_LOAD_BALANCER} of ours"
