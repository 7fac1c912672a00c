"""When it is the turn of what ends whoever is still there: nobody has a reason left to stay."""

from collections.abc import Callable

from watcher.actions.all_saved import AllSaved
from watcher.actions.drain import Drain
from watcher.actions.drain_window import Window, window_of
from watcher.errors import ActionWaiting
from watcher.notice import Moment, Standing, rfc3339


class LastTurn:
    """Comes when all that trained have saved and the drain has nobody left to ask.

    It comes as well when the drain asks nobody any more either, because the end draws near.

    Args:
        drain: Whom nothing may undercut: budgets are kept to until the end draws near.
        saved: Tells whether all trainers have saved; nobody else asks it.
        reserve_s: Seconds before the deadline from which nobody is asked any more.
        now: Reads both clocks.
    """

    def __init__(
        self, drain: Drain, saved: AllSaved, reserve_s: float, now: Callable[[], Moment]
    ) -> None:
        self._drain = drain
        self._saved = saved
        self._reserve_s = reserve_s
        self._now = now

    async def require(self, standing: Standing) -> None:
        """Return when it is there; to be asked from the beginning of the notice on.

        Raises:
            ActionWaiting: It is not.
        """
        # From the beginning: only those count that were seen at work.
        has_saved = await self._saved.reached()
        now = self._now()
        window = window_of((standing,), self._reserve_s, now)
        if window is None or window.is_forced(now):
            return
        until = _end_of_patience(window)
        if not has_saved:
            raise ActionWaiting(f"until all trainers have saved, or {until}")
        if not self._drain.has_asked_all:
            raise ActionWaiting(f"until the drain has asked every pod to end, or {until}")

    def forget(self) -> None:
        """Begin anew: what was seen so far concerns another notice."""
        self._saved.forget()


def _end_of_patience(window: Window) -> str:
    forced = window.deadline.before(window.deadline.boottime_s - window.forced_s)
    return rfc3339(forced.wall)
