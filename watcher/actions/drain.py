"""Evicts the Node's pods before the cloud takes it, to a hard deadline.

It is asked about once a second, and each time begins from the pods as they are; nothing of it has
to outlive the daemon. What it remembers only makes it fairer: whom to ask again when.
"""

from collections.abc import Awaitable, Callable, Iterable

from watcher.actions.drain_calls import DrainCalls, name_of
from watcher.actions.drain_events import DrainEvents, Word
from watcher.actions.drain_plan import DrainPlan, plan_drain
from watcher.actions.drain_tally import DrainTally
from watcher.actions.drain_window import Window, window_of
from watcher.actions.kube_errors import as_action_error
from watcher.actions.node_desk import NodeDesk
from watcher.config import DrainConfig
from watcher.errors import ActionDryRun, ActionRetryable, ActionWaiting
from watcher.kube.client import KubeClient
from watcher.kube.keys import RECLAIM
from watcher.kube.objects import Node, Pod
from watcher.kube.pods import PodApi
from watcher.notice import Moment, Standing
from watcher.trainers import Trainers

CORDON_PATIENCE_S = 5.0
"""Seconds that the drain waits for the cordon, without which evicted pods would come back here."""

ROUND_S = 0.5
"""Least seconds between two rounds where several notices ask for one each."""

_NAMES_SHOWN = 5


class Drain:
    """Evicts pods, by their budgets as long as there is time, and deletes them after that.

    Args:
        desk: Who keeps the Node.
        client: Where its pods are, and Events go.
        look: Returns what its trainers say.
        rules: Which pods leave, and when.
        now: Reads both clocks.
    """

    name = "drain"

    def __init__(
        self,
        desk: NodeDesk,
        client: KubeClient,
        look: Callable[[], Awaitable[Trainers]],
        rules: DrainConfig,
        now: Callable[[], Moment],
    ) -> None:
        self._desk = desk
        self._pods = PodApi(client, desk.api.name)
        self._events = DrainEvents(client, desk.boot_id, now)
        self._look = look
        self._rules = rules
        self._now = now
        self._calls = DrainCalls(self._pods, self._window, now)
        self._tally = DrainTally()
        self._notices: set[str] = set()
        self._first_s: float | None = None
        self._node: Node | None = None
        self._is_busy = False
        self._last: tuple[str, float] = ("", 0.0)
        self._lasting: dict[str, str] = {}
        self._said = ""
        self._has_asked_all = False

    async def run(self, standing: Standing, /) -> str:
        """Go on with the drain; see :class:`base.Action`.

        Raises:
            ActionWaiting: Pods are still there, and it is not the end.
            ActionRetryable: The API server can't be reached, or the deadline has come.
            ActionRefused: The daemon may not do it, or the Node is another machine's.
            ActionDryRun: It would have been done.
        """
        if self._rules.scope == "off":
            return "switched off: drain.scope = off"
        self._notices.add(standing.notice.id)
        by, at_s = self._last
        now_s = self._now().boottime_s
        if self._is_busy or (by != standing.notice.id and now_s < at_s + ROUND_S):
            raise ActionWaiting(self._said or "about to begin for another notice")
        self._is_busy = True
        try:
            return await self._round()
        finally:
            self._is_busy = False
            self._last = (standing.notice.id, self._now().boottime_s)

    async def undo(self, standing: Standing, /) -> str:
        """Ask no more pods to end; what has gone is made anew elsewhere, by its controller."""
        self._notices.discard(standing.notice.id)
        if self._window() is None:
            self._has_asked_all = False
            self._desk.forget_drained()
            self._node, self._first_s = None, None
            self._lasting.clear()
            self._calls.forced.clear()
            self._tally, self._desk.board.pods = DrainTally(), None
        return "no more pods are evicted; those that were are left to their controllers"

    @property
    def has_asked_all(self) -> bool:
        """Whether, at the last look, every pod was ending or gone, but for those of DaemonSets.

        That is not so where owners or rules leave pods alone, and not known with a selector.
        """
        return self._has_asked_all

    def _window(self) -> Window | None:
        wanted = (one for one in self._desk.in_force() if one.notice.id in self._notices)
        return window_of(wanted, self._rules.grace_s, self._now())

    async def _round(self) -> str:
        window = self._window()
        if window is None:
            raise ActionRetryable(f"the deadline has come, or none is in force; {self._said}")
        with as_action_error():
            node = await self._require_node()
            pods = await self._pods.list(self._rules.selector)
        trainers = await self._look()
        plan = plan_drain(pods, trainers, window, self._rules, self._now())
        is_all = self._rules.selector is None and not plan.spared
        self._has_asked_all = is_all and not (plan.asks or plan.held)
        self._note_lasting(plan)
        await self._calls.carry_out(plan.asks)
        self._desk.board.pods = self._tally.count(plan, self._calls, self._now())
        self._said = self._summary(plan)
        await self._tell(node, plan)
        if self._desk.api.is_dry_run:
            raise ActionDryRun(f"not stored, but so it would begin: {self._said}")
        if plan.is_over:
            if is_all:
                await self._desk.note_drained()
            return self._end()
        if self._calls.failed:
            raise ActionRetryable(f"{self._calls.failed}; {self._said}")
        raise ActionWaiting(self._said)

    async def _require_node(self) -> Node:
        """Make sure that the Node is this machine, and that evicted pods don't come back to it.

        Raises:
            ActionWaiting: It is about to be cordoned.
            ActionError, KubeError: It is another machine, or not known.
        """
        if self._node is not None:
            return self._node
        node = await self._desk.own()
        now_s = self._now().boottime_s
        self._first_s = now_s if self._first_s is None else self._first_s
        is_closed = node.is_unschedulable or any(one.get("key") == RECLAIM for one in node.taints)
        is_patient = now_s < self._first_s + CORDON_PATIENCE_S and not self._desk.api.is_dry_run
        if is_patient and not is_closed:
            raise ActionWaiting(f"until {node.name} is cordoned, or evicted pods would come back")
        self._node = node
        return node

    async def _tell(self, node: Node, plan: DrainPlan) -> None:
        """Say who is in the way, who had to go by force, and that it is over."""
        held, blocked = [one.pod.uid for one in plan.held], self._calls.blocked.keys()
        if held or blocked:
            word = Word("DrainWaits", self._said, (*held, *blocked), is_warning=bool(blocked))
            await self._events.tell(node, word)
        if forced := sorted(self._calls.forced):
            said = f"deleted, as no time is left for their budgets or trainers: {_listed(forced)}"
            await self._events.tell(node, Word("DrainForced", said, forced, is_warning=True))
        if plan.is_over:
            ids = sorted(self._notices)
            said = "; ".join(filter(None, (self._end(), self._desk.answers(*ids))))
            await self._events.tell(node, Word("Drained", said, ids))

    def _note_lasting(self, plan: DrainPlan) -> None:
        """Remember of which pods something is lost for good: nothing makes them anew."""
        for pod in (*(ask.pod for ask in plan.asks), *(one.pod for one in plan.held)):
            losses = (
                *(() if pod.controller else ("no controller makes another",)),
                *(("its emptyDir goes with it",) if pod.has_empty_dir else ()),
            )
            if losses:
                self._lasting[name_of(pod)] = ", ".join(losses)

    def _summary(self, plan: DrainPlan) -> str:
        blocked = [ask.pod for ask in plan.asks if ask.pod.uid in self._calls.blocked]
        open_ = len(plan.asks) - len(blocked)
        parts = [
            f"asked {open_} pods to end" if open_ else "",
            _shown("ending", plan.ending),
            _shown("held by their trainers or owners", [one.pod for one in plan.held]),
            "; ".join(dict.fromkeys(f"{name_of(one.pod)}: {one.why}" for one in plan.held[:1])),
            _shown("blocked", blocked),
            self._calls.blocked[blocked[0].uid] if blocked else "",
        ]
        return "; ".join(part for part in parts if part) or "no pods to drain"

    def _end(self) -> str:
        forced = sorted(self._calls.forced)
        lost = [f"{name} ({why})" for name, why in sorted(self._lasting.items())]
        parts = [
            "drained",
            f"deleted past their budgets: {_listed(forced)}" if forced else "",
            f"lost for good: {_listed(lost)}" if lost else "",
        ]
        return "; ".join(part for part in parts if part)


def _shown(what: str, pods: Iterable[Pod]) -> str:
    names = sorted(name_of(pod) for pod in pods)
    return f"{what}: {_listed(names)}" if names else ""


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
