"""/v1/notice: the watcher's word for trainers that can't see the flag file.

They are in pods that may mount no directory of the host's, for example. It says what the flag file
says, and one thing more: that no notice is in force. A file that is not there can mean that nobody
watches; here that is told apart, and is no answer.
"""

import asyncio
import math
import re
from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import partial

from aiohttp import web

from watcher.actions.flag_word import FlagWord
from watcher.config import Address
from watcher.faces.server import keep_serving
from watcher.health import SourceHealth
from watcher.notice import Moment, Notice
from watcher.state import State

PATH = "/v1/notice"

WAIT_LIMIT_S = 60.0
"""Longest that a client is kept waiting, in seconds, whatever it asks for: whoever is in between
forgets a connection that is silent for minutes."""

WAITING_LIMIT = 48
"""Most clients that wait at a time; the server has 64 places. Whoever comes then is answered at
once, and asks again in a moment, so that nobody can keep a trainer from its answer by waiting."""

_SEQ = re.compile(r"[0-9]{1,18}")
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{0,6})?")


class NoticeFace:
    """Answers /v1/notice.

    Args:
        word: What is said.
        state: What is known of notices.
        healths: One for each enabled source.
        adopted: What an earlier run of the daemon has left in force or planned.
        now: Reads both clocks.
    """

    def __init__(
        self,
        word: FlagWord,
        state: State,
        healths: Sequence[SourceHealth],
        adopted: Collection[Notice],
        now: Callable[[], Moment],
    ) -> None:
        self._word = word
        self._state = state
        self._healths = healths
        self._adopted = {notice.id for notice in adopted}
        self._now = now
        self._has_looked = False
        self._waiting = 0

    def keepers(self, listen: Address | None) -> list[Callable[[], Coroutine[None, None, None]]]:
        """Return what serves it on an address until cancelled; nothing where there is none."""
        if listen is None:
            return []
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return [partial(keep_serving, {PATH: self.notice}, listen, bound, name="notice")]

    async def notice(self, request: web.Request) -> web.Response:
        """Say what is in force, at once or, where the client knows that, when it changes.

        ``after`` is the seq of what it knows, ``wait`` for how many seconds it would wait. The
        answer is 503 as long as "nothing is in force" is more than anybody knows.
        """
        after = _asked(request, "after", _SEQ)
        wait_s = min(float(_asked(request, "wait", _SECONDS) or 0), WAIT_LIMIT_S)
        if after is not None and wait_s > 0 and not self._unknown():
            await self._next_after(int(after), wait_s)
        headers = {"Cache-Control": "no-store"}
        if why := self._unknown():
            return web.Response(status=503, text=f"unknown: {why}\n", headers=headers)
        body = self._word.answer()
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def _next_after(self, seq: int, wait_s: float) -> None:
        """Wait for a word other than that of ``seq``, if there is room to wait in."""
        if self._waiting >= WAITING_LIMIT:
            return
        self._waiting += 1
        try:
            async with asyncio.timeout(wait_s):
                await self._word.next_after(seq)
        except TimeoutError:
            return
        finally:
            self._waiting -= 1

    def _unknown(self) -> str:
        """Return why nobody knows whether a notice is in force; empty where it is known."""
        if self._has_looked or self._word.current().flag is not None:
            return ""
        if not self._adopted <= {entry.standing.notice.id for entry in self._state.entries()}:
            return "what an earlier run has left is being read"
        now = self._now()
        for health in self._healths:
            for key in health.unfit(now, math.inf):
                return f"{health.source} has not answered yet for {key}"
        self._has_looked = True
        return ""


def _asked(request: web.Request, name: str, form: re.Pattern[str]) -> str | None:
    """Return a number of the query, as it is written there; None where it is not there.

    Raises:
        HTTPBadRequest: It is none.
    """
    text = request.query.get(name)
    if text is not None and not form.fullmatch(text):
        raise web.HTTPBadRequest(text=f"{name} has to be a number, not {text[:40]!r}\n")
    return text
