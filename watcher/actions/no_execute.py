"""Has the control plane end whoever is still on the Node, when nobody has a reason left to stay.

The taint's effect is hard: every pod that does not tolerate it is deleted at once, whatever its
budget says and with its own grace, and pods of DaemonSets are no exception. So it comes last: when
all that trained have saved and the drain has nobody left to ask, or when the drain asks nobody any
more either.
"""

from collections.abc import Callable

from watcher.actions.all_saved import AllSaved
from watcher.actions.drain import Drain
from watcher.actions.drain_window import Window, window_of
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_plan import EFFECTS, Step
from watcher.actions.node_state import Done
from watcher.actions.node_steps import NodeStep
from watcher.errors import ActionWaiting
from watcher.kube.keys import RECLAIM
from watcher.kube.objects import Node
from watcher.notice import Moment, Standing, rfc3339


class NoExecute(NodeStep):
    """Adds our taint a second time, with the effect that ends pods.

    Args:
        desk: Who keeps the Node.
        drain: Whom it must not undercut: budgets are kept to until the end draws near.
        saved: Tells whether all trainers have saved; nobody else asks it.
        reserve_s: Seconds before the deadline from which nobody is asked any more.
        now: Reads both clocks.
    """

    step = Step.NO_EXECUTE

    def __init__(
        self,
        desk: NodeDesk,
        drain: Drain,
        saved: AllSaved,
        reserve_s: float,
        now: Callable[[], Moment],
    ) -> None:
        super().__init__(desk)
        self._drain = drain
        self._saved = saved
        self._reserve_s = reserve_s
        self._now = now

    async def run(self, standing: Standing, /) -> str:
        """Add it when it is time; see :class:`base.Action`.

        Raises:
            ActionWaiting: It is not.
            ActionError: As for every step.
        """
        # From the beginning: only those count that were seen at work.
        has_saved = await self._saved.reached()
        now = self._now()
        window = window_of((standing,), self._reserve_s, now)
        if window is not None and not window.is_forced(now):
            until = _end_of_patience(window)
            if not has_saved:
                raise ActionWaiting(f"until all trainers have saved, or {until}")
            if not self._drain.has_asked_all:
                raise ActionWaiting(f"until the drain has asked every pod to end, or {until}")
        return await super().run(standing)

    async def undo(self, standing: Standing, /) -> str:
        """Take it off unless another notice wants it; what was ended stays so."""
        self._saved.forget()
        return await super().undo(standing)

    def _said(self, node: Node, done: Done) -> str:
        if done.no_execute is None:
            return f"{node.name} had the taint {RECLAIM} with {EFFECTS[self.step]} before"
        return f"tainted {node.name} with {RECLAIM}={done.no_execute}:{EFFECTS[self.step]}"

    def _unsaid(self, node: Node) -> str:
        return f"{node.name} has no taint {RECLAIM} of ours that ends pods"


def _end_of_patience(window: Window) -> str:
    forced = window.deadline.before(window.deadline.boottime_s - window.forced_s)
    return rfc3339(forced.wall)
