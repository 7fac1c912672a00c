"""Keeps the Node as the notices in force want it: one read and one patch for all the actions."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from watcher.actions.node_board import NodeBoard
from watcher.actions.node_identity import Verdict, judge
from watcher.actions.node_plan import Step, Wanted, left_on, plan
from watcher.actions.node_state import Done
from watcher.errors import (
    ActionDryRun,
    ActionError,
    ActionRefused,
    ActionRetryable,
    KubeError,
    KubeForbidden,
    KubeNotFound,
    KubeRefused,
)
from watcher.kube.keys import CONDITION
from watcher.kube.node import NodeApi
from watcher.kube.objects import Node
from watcher.notice import Standing
from watcher.state import State

log = logging.getLogger(__name__)

_FIRST_DELAY_S = 1.0
_LONGEST_DELAY_S = 30.0


class NodeDesk:
    """What is done to this machine's Node, by whichever action and for whichever notice.

    Args:
        api: The Node.
        boot_id: This boot's.
        state: Which notices are in force.
        facts: Returns what the metadata service has said of this machine so far.
        board: Where the Node is noted for people to see.
    """

    def __init__(
        self,
        api: NodeApi,
        boot_id: str,
        state: State,
        facts: Callable[[], Mapping[str, str]],
        board: NodeBoard,
    ) -> None:
        self.api = api
        self.boot_id = boot_id
        self.board = board
        self._state = state
        self._facts = facts
        self._notices: dict[Step, set[str]] = {step: set() for step in Step}
        self._turn = asyncio.Lock()
        self._begun = 0
        self._settled = 0
        self._node: Node | None = None
        self._done = Done()

    def want(self, step: Step, notice_id: str) -> None:
        """Want this done for a notice, at the next :meth:`settle`."""
        self._notices[step].add(notice_id)

    def drop(self, step: Step, notice_id: str) -> None:
        """Want it no longer for that notice."""
        self._notices[step].discard(notice_id)

    def wanted(self) -> Wanted:
        """Return what is wanted, each for the most urgent notice in force that wants it."""
        found = {}
        for standing in reversed(self._state.in_force()):
            for step, notices in self._notices.items():
                if standing.notice.id in notices:
                    found[step] = standing
        return found

    async def settle(self) -> tuple[Node, Done]:
        """Make the Node what is wanted when it is read, and return it with what was done to it.

        Actions that ask for it at the same time share one read and one patch.

        Raises:
            ActionRetryable: It could not be done now.
            ActionRefused: The daemon may not do it, or the Node is another machine's.
        """
        asked_at = self._begun
        async with self._turn:
            # One that began after we asked has seen what we want.
            if self._settled <= asked_at or self._node is None:
                await asyncio.sleep(0)  # the other actions of the notice say what they want
                self._begun += 1
                begun = self._begun
                with as_action_error():
                    self._node = await self._settle(self.wanted())
                if not self.api.is_dry_run:  # or it is the Node as it would be
                    self.board.note(self._node)
                self._settled = begun
            return self._node, self._done

    async def show(self, condition_for: Callable[[Standing], Mapping[str, str]]) -> None:
        """Put the condition for the most urgent notice that wants the mark on the Node, if any.

        Raises:
            ActionRetryable: It could not be done now.
            ActionRefused: The daemon may not do it.
        """
        async with self._turn:  # or one that is late would come after the end of its notice
            first = self.wanted().get(Step.MARK)
            if first is not None:
                with as_action_error():
                    await self.api.set_condition(condition_for(first))

    async def keep(self) -> None:
        """Undo what an earlier boot has left on the Node; again until that is known to be done.

        What this boot has left is left: whether its notice is still in force is for its source to
        say, or the Node would be free for a moment while it is about to go.
        """
        delay_s, told = _FIRST_DELAY_S, ""
        while True:
            try:
                with as_action_error():
                    node = await self.api.get()
                left = left_on(node)
                if left is not None and left.boot_id != self.boot_id:
                    await self.settle()
                    log.info("node is back node=%s boot_id=%s", self.api.name, self.boot_id)
            except ActionRefused as error:
                log.warning("node not looked after node=%s why=%s", self.api.name, error)
                return
            except ActionError as error:
                if str(error) != told:
                    log.warning("node not known node=%s why=%s", self.api.name, error)
                told = str(error)
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, _LONGEST_DELAY_S)
            else:
                return

    def require_stored(self, what: str) -> str:
        """Return what was done, if it was more than a trial.

        Raises:
            ActionDryRun: Nothing was stored.
        """
        if self.api.is_dry_run:
            raise ActionDryRun(f"not stored, but the API server would have: {what}")
        return what

    async def own(self) -> Node:
        """Return the Node, which is this machine's for certain, or as far as its name says.

        Raises:
            KubeError: It can't be read.
            ActionRefused: It is another machine's.
            ActionRetryable: It may be, so far.
        """
        node = await self.api.get()
        self._require_own(node)
        self.board.note(node)
        return node

    def in_force(self) -> tuple[Standing, ...]:
        """Return the notices in force, the most urgent first."""
        return self._state.in_force()

    async def _settle(self, wanted: Wanted) -> Node:
        if Step.MARK not in wanted:
            # Before the annotation that says so: after it nobody would know of the condition.
            left = left_on(await self.own())
            if left is not None and left.done.is_marked:
                await self.api.remove_condition(CONDITION)
        return await self.api.edit(partial(self._change, wanted))

    def _change(self, wanted: Wanted, node: Node) -> Mapping[str, object] | None:
        self._require_own(node)
        planned = plan(node, wanted, self.boot_id)
        self._done = planned.done
        return planned.patch

    def _require_own(self, node: Node) -> None:
        verdict, why = judge(node, self._facts(), self.boot_id)
        if verdict is Verdict.ANOTHER:
            raise ActionRefused(
                f"Node {node.name} is another machine: {why}. Set node to this machine's Node, in "
                "a DaemonSet from spec.nodeName"
            )
        if verdict is Verdict.NOT_YET:
            raise ActionRetryable(f"Node {node.name} may be another machine so far: {why}")


@contextmanager
def as_action_error() -> Iterator[None]:
    """Say of a failed call whether trying again may help."""
    try:
        yield
    except (KubeForbidden, KubeRefused) as error:
        raise ActionRefused(
            f"{error}. The account lacks a right, or an admission policy forbids it"
        ) from error
    except KubeNotFound as error:
        raise ActionRetryable(f"{error}. It may be about to join") from error
    except KubeError as error:
        raise ActionRetryable(str(error)) from error
