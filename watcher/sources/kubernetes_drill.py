"""Drills that somebody begins by an annotation of this machine's Node, ``reprieve.dev/drill``.

Who may write it is Kubernetes' to judge: deploy/daemonset/components/drill lets one group, and
nobody else. Believed is only what appears while the daemon looks: an annotation that was there when
it began to look belongs to a drill that is over, as no drill outlives its daemon.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from watcher.kube.keys import DRILL
from watcher.kube.objects import Node
from watcher.notice import Moment
from watcher.sources.drill import Drills
from watcher.sources.times import rfc3339_instant

log = logging.getLogger(__name__)

NAME = "kubernetes_drill"
KEY = "annotation"

FRESH_S = 120.0
"""How far the instant in the annotation may be from now, in seconds. One that a daemon hears of an
hour late, when the API server is back, begins nothing: whoever wanted it has gone."""


def parse_drill(text: str, now: datetime) -> float:
    """Return the window in seconds that an annotation asks for: ``2026-11-30T10:00:00Z/120``.

    Raises:
        ValueError: It asks for nothing, or not now.
    """
    at, _, window = text.partition("/")
    asked = rfc3339_instant(at)
    if asked is None or not window.isdecimal() or not window.isascii() or len(window) > 4:
        raise ValueError(f"{text!r:.60} is not an instant and seconds: 2026-11-30T10:00:00Z/120")
    if abs((now - asked).total_seconds()) > FRESH_S:
        raise ValueError(f"it was asked for at {at:.40}, which is not within {FRESH_S:g} s of now")
    return float(window)


class DrillMark:
    """Looks at the annotation, and lets drills begin and end by it.

    Args:
        drills: What begins and ends them.
        now: Reads both clocks.
    """

    def __init__(self, drills: Drills, now: Callable[[], Moment]) -> None:
        self._drills = drills
        self._now = now
        self._has_looked = False
        self._last: str | None = None
        self._news: asyncio.Queue[str | None] = asyncio.Queue()

    def look(self, node: Node) -> None:
        """Take in the Node as it is now."""
        text = node.annotations.get(DRILL)
        if self._has_looked and text != self._last:
            self._news.put_nowait(text)
        self._has_looked, self._last = True, text

    async def keep(self) -> None:
        """Begin and end drills as the annotation comes and goes, until cancelled."""
        while True:
            text = await self._news.get()
            if text is None:
                self._drills.end("cleared")
                continue
            try:
                window_s = parse_drill(text, self._now().wall)
                await self._drills.answer({"ask": "drill", "window_s": window_s})
            except ValueError as error:
                log.warning("drill refused source=%s why=%s", NAME, error)
