"""Frees the Node of what was done in this boot for a notice that nobody knows of any more.

A daemon may have died between its cordon and its flag, and the notice been taken back before the
next one began; or the source that told of it is switched off since. Nobody would ever undo it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from watcher.actions.kube_errors import as_action_error
from watcher.actions.node_desk import NodeDesk
from watcher.actions.node_plan import left_on
from watcher.errors import ActionError
from watcher.health import SourceHealth

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""Seconds between looks at what is known."""

CALM_LOOKS = 12
"""How many looks in a row have to find every source in the know: what some of them say comes a
moment after their first answer."""


class Forgotten:
    """Looks once, when every source has said all that it knows.

    Args:
        desk: Who keeps the Node.
        healths: Returns the health of every source that was opened.
    """

    def __init__(self, desk: NodeDesk, healths: Callable[[], Iterable[SourceHealth]]) -> None:
        self._desk = desk
        self._healths = healths

    async def keep(self) -> None:
        """Free the Node if it has to be; again until that is known to be done."""
        told, calm = "", 0
        while True:
            await asyncio.sleep(LOOK_S)
            # As long as one is blind a notice may be in force: unknown is not clear.
            is_known = all(health.blind_since() is None for health in self._healths())
            calm = calm + 1 if is_known else 0
            if calm < CALM_LOOKS:
                continue
            try:
                await self._free()
            except ActionError as error:
                if str(error) != told:
                    log.warning("node not known node=%s why=%s", self._desk.api.name, error)
                told = str(error)
            else:
                return

    async def _free(self) -> None:
        with as_action_error():
            left = left_on(await self._desk.own())
        # What is wanted is undone by whoever wants it, or is the next daemon's to find.
        if left is None or left.boot_id != self._desk.boot_id or self._desk.wanted():
            return
        await self._desk.settle()
        log.warning(
            "node freed of what was done for a notice that nobody knows of node=%s notice_id=%s",
            self._desk.api.name,
            left.notice.get("id"),
        )
