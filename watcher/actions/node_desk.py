"""Keeps the Node as the notices in force want it: one read and one patch for all the actions."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from watcher.actions.kube_errors import as_action_error
from watcher.actions.node_asking import Asked
from watcher.actions.node_board import NodeBoard
from watcher.actions.node_conditions import may_have_conditions, unwanted_conditions
from watcher.actions.node_identity import Verdict, judge
from watcher.actions.node_plan import Beside, Step, Wanted, left_on, plan
from watcher.actions.node_state import Done
from watcher.actions.node_wishes import NodeWishes
from watcher.errors import ActionDryRun, ActionError, ActionRefused, ActionRetryable
from watcher.kube.node import NodeApi
from watcher.kube.objects import Node
from watcher.kube.replacement import Ask, AskPlace
from watcher.notice import Deadline, Standing

log = logging.getLogger(__name__)

EXPIRY_LOOK_S = 1.0
"""Seconds between looks at whether something was wanted for long enough; no call is made for it."""

_FIRST_DELAY_S = 1.0
_LONGEST_DELAY_S = 30.0


class NodeDesk:
    """What is done to this machine's Node, by whichever action and for whichever notice.

    Args:
        api: The Node.
        wishes: What is wanted of it in this boot.
        facts: Returns what the metadata service has said of this machine so far.
        board: Where the Node is noted for people to see.
        ask: How another Node is asked for; None where nobody is.
    """

    def __init__(
        self,
        api: NodeApi,
        wishes: NodeWishes,
        facts: Callable[[], Mapping[str, str]],
        board: NodeBoard,
        ask: Ask | None = None,
    ) -> None:
        self.api = api
        self.boot_id = wishes.boot_id
        self.board = board
        self._wishes = wishes
        self._facts = facts
        self._ask = ask
        self._turn = asyncio.Lock()
        self._begun = 0
        self._settled = 0
        self._node: Node | None = None
        self._done = Done()
        self._is_drained = False

    def want(self, step: Step, notice_id: str) -> None:
        """Want this done for a notice, at the next :meth:`settle`."""
        self._wishes.want(step, notice_id)

    def drop(self, step: Step, notice_id: str) -> None:
        """Want it no longer for that notice."""
        self._wishes.drop(step, notice_id)

    def wanted(self) -> Wanted:
        """Return what is wanted, each for the most urgent notice in force that still wants it."""
        return self._wishes.wanted()

    def end_of(self, standing: Standing) -> Deadline | None:
        """Return until when a notice wants anything; None for as long as it is in force."""
        return self._wishes.end_of(standing)

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
                    self._node = await self._settle()
                if not self.api.is_dry_run:  # or it is the Node as it would be
                    self.board.note(self._node)
                self._settled = begun
            return self._node, self._done

    async def note_drained(self) -> None:
        """Say where it says what was done to the Node that its pods are gone; raises as settle."""
        self._is_drained = True
        await self.settle()

    def forget_drained(self) -> None:
        """Say so no more, at the next :meth:`settle`: pods may come back."""
        self._is_drained = False

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

    async def ask(self, condition_for: Callable[[Asked, Standing], Mapping[str, str]]) -> Done:
        """Ask for another Node, if that is wanted still; return what is done to this one then.

        In a call of its own: a policy that forbids it holds nothing else up. Raises as settle.
        """
        async with self._turn:
            wanted = self.wanted()
            with as_action_error():
                await self.api.edit(partial(self._change, wanted, is_time=True))
                asked = self._done.asked
                if asked is not None and asked.place is AskPlace.CONDITION:
                    await self.api.set_condition(condition_for(asked, wanted[Step.REPLACE]))
            return self._done

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
                self._wishes.take_in(left)
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

    async def keep_expiring(self) -> None:
        """Undo what was wanted only for a time, when that is over; never returns."""
        told = ""
        while True:
            await asyncio.sleep(EXPIRY_LOOK_S)
            if not self._wishes.is_overdue:
                continue
            try:
                await self.settle()
            except ActionError as error:
                if str(error) != told:
                    log.warning("node not freed in time node=%s why=%s", self.api.name, error)
                told = str(error)
                await asyncio.sleep(_LONGEST_DELAY_S)
            else:
                log.info("what was done for a time is undone node=%s", self.api.name)

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
        return self._wishes.in_force()

    def answers(self, *notice_ids: str) -> str:
        """Return how soon the first of these notices was answered, for people."""
        return self._wishes.answers(notice_ids)

    async def _settle(self) -> Node:
        if self._wishes.needs_what_was_left:
            self._wishes.take_in(left_on(await self.own()))
        ends, wanted = self._wishes.ends(), self._wishes.wanted()
        if may_have_conditions(wanted, self._ask):
            # Before the annotation that says so: after it nobody would know of the condition.
            left = left_on(await self.own())
            for kind in unwanted_conditions(left, wanted, self._ask):
                await self.api.remove_condition(kind)
        node = await self.api.edit(partial(self._change, wanted))
        self._wishes.watch(ends)
        return node

    def _change(
        self, wanted: Wanted, node: Node, *, is_time: bool = False
    ) -> Mapping[str, object] | None:
        self._require_own(node)
        expiry, drained = self._wishes.expiry(), self._is_drained
        beside = Beside(expiry=expiry, is_drained=drained, ask=self._ask, is_time=is_time)
        planned = plan(node, wanted, self.boot_id, beside)
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
