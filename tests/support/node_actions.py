"""The actions on our own Node, over the fake API server."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.clocks import TurnedClock
from tests.support.own_node import NODE, OwnNode, own_node
from tests.support.standings import admitted, withdrawn
from watcher.actions.base import Action
from watcher.actions.node_board import NodeBoard
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_mark import NodeMark
from watcher.actions.node_steps import Cordon, ExcludeFromLoadBalancers, Taint
from watcher.actions.node_wishes import NodeWishes
from watcher.notice import Standing
from watcher.state import State


class NodeActions:
    """A desk with its four actions, and a state that the test fills."""

    def __init__(self, own: OwnNode, boot_id: str) -> None:
        self.own = own
        self.cluster = own.cluster
        self.state = State()
        self.facts: dict[str, str] = {}
        self.clock = TurnedClock()
        self.board = NodeBoard(self.clock)
        wishes = NodeWishes(self.state, boot_id, self.clock)
        self.desk = NodeDesk(own.node, wishes, self._facts, self.board)
        self.mark = NodeMark(self.desk, own.client, self.clock)
        self.cordon = Cordon(self.desk)
        self.taint = Taint(self.desk)
        self.exclude = ExcludeFromLoadBalancers(self.desk)
        self.all: tuple[Action, ...] = (self.mark, self.cordon, self.taint, self.exclude)

    async def run(self, standing: Standing, *actions: Action) -> list[str]:
        """Put a notice in force if it is not, and run these actions, or all, one after another."""
        if standing not in self.state.in_force():
            admitted(self.state, standing)
        return [await action.run(standing) for action in actions or self.all]

    async def undo(self, standing: Standing, *actions: Action) -> list[str]:
        """Take a notice out of force, and undo these actions, or all."""
        if standing in self.state.in_force():
            withdrawn(self.state, standing)
        return [await action.undo(standing) for action in actions or self.all]

    def node(self) -> dict[str, Any]:
        """Return the Node but for its version."""
        node = self.cluster.node(NODE)
        del node["metadata"]["resourceVersion"]
        return node

    def condition(self) -> dict[str, str] | None:
        """Return the condition that is ours."""
        found = self.cluster.node(NODE)["status"]["conditions"]
        return next((one for one in found if one["type"] == "ReclaimPending"), None)

    def annotation(self) -> str | None:
        """Return the annotation that is ours."""
        text: str | None = self.node()["metadata"].get("annotations", {}).get("reprieve.dev/state")
        return text

    def _facts(self) -> Mapping[str, str]:
        return self.facts


@asynccontextmanager
async def node_actions(
    directory: Path,
    *,
    boot_id: str = "boot-1",
    limit_s: float = 2.0,
    is_dry_run: bool = False,
) -> AsyncIterator[NodeActions]:
    """Run the fake with one Node, and the actions on it."""
    async with own_node(directory, limit_s=limit_s, is_dry_run=is_dry_run) as own:
        yield NodeActions(own, boot_id)
