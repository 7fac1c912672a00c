"""Follows the node's watcher over HTTP, in a thread that may hang as long as the network does.

Nobody waits for it: the listener hears the flag file and the signals whatever becomes of this.
"""

import logging
import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from trainer_hooks.clock import boottime_s
from trainer_hooks.errors import NoticeUnknownError
from trainer_hooks.flag import StopNotice
from trainer_hooks.notice_url import NoticeUrl, Told, ask

log = logging.getLogger(__name__)

WAIT_S = 30.0
"""How long the watcher may wait for news, in seconds: half of what it allows."""

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 5.0
"""Longest between attempts where there is no answer: a third of the shortest window is 10 s."""

EARLY_PAUSE_S = 1.0
"""After an answer without news that has not waited: the watcher has too many clients for that."""

NEWS_PAUSE_S = 0.1
"""After news: whoever makes up news all the time costs ten requests a second."""

CLOSE_S = 1.0
"""Longest that the end of a run waits for the thread, in seconds."""


class NoticeFollower:
    """Keeps what a watcher has said last.

    What could not be learnt changes nothing: it is counted, said once, and asked for again.

    Args:
        url: Whom to ask.
        on_news: Called from the follower's thread whenever something else is said; never after
            ``close()``.
    """

    def __init__(self, url: NoticeUrl, on_news: Callable[[], None]) -> None:
        self.failures = 0
        """How many questions in a row have brought no answer."""
        self._url = url
        self._on_news = on_news
        self._told: Told | None = None
        self._line: socket.socket | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        # Of its own: the training's random numbers are not to be touched.
        self._random = random.Random()  # noqa: S311 - no secret
        self._thread = threading.Thread(target=self._follow, name="reprieve-notice", daemon=True)

    def start(self) -> None:
        """Follow from now on; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Follow no longer; a connection attempt under way may outlive this for seconds."""
        with self._lock:
            self._closing.set()
            self._hang_up()
        if self._thread.is_alive():
            self._thread.join(timeout=CLOSE_S)

    def notice(self) -> StopNotice | None:
        """Return the notice that the watcher tells of, as it stands now; any thread may ask.

        None where it tells of none, and where it has never said anything.

        Raises:
            FlagError: It cannot be understood. Take it for ``UNREADABLE``.
        """
        told = self._told
        return None if told is None else told.notice()

    def _follow(self) -> None:
        after: int | None = None
        while not self._closing.is_set():
            asked_s = boottime_s()
            try:
                told = ask(self._url, after, WAIT_S, self._note_line)
            except NoticeUnknownError as error:
                self._note_unknown(error)
                after, pause_s = None, self._backoff_s()
            else:
                is_news = self._note_told(told)
                after, pause_s = told.seq, _pause_s(boottime_s() - asked_s, is_news=is_news)
            self._closing.wait(pause_s * self._random.uniform(0.5, 1.0))

    def _note_line(self, line: socket.socket) -> None:
        with self._lock:
            self._line = line
            if self._closing.is_set():
                self._hang_up()

    def _hang_up(self) -> None:
        if self._line is not None:
            with suppress(OSError):  # it is over already
                self._line.shutdown(socket.SHUT_RDWR)

    def _note_told(self, told: Told) -> bool:
        """Keep it; tell whether it says anything else than before."""
        if self.failures:
            log.info("notice url %s answers again after %d failures", self._url, self.failures)
        self.failures = 0
        with self._lock:
            is_news = self._told is None or self._told.flag != told.flag
            self._told = told
            if is_news and not self._closing.is_set():
                self._on_news()
        return is_news

    def _note_unknown(self, error: NoticeUnknownError) -> None:
        if self._closing.is_set():
            return
        self.failures += 1
        if self.failures == 1:
            log.warning("what is in force is unknown, what was said last still stands: %s", error)

    def _backoff_s(self) -> float:
        return min(FIRST_PAUSE_S * 2.0 ** min(self.failures, 10), LONGEST_PAUSE_S)


def _pause_s(took_s: float, *, is_news: bool) -> float:
    if is_news:
        return NEWS_PAUSE_S
    return 0.0 if took_s > WAIT_S / 2 else EARLY_PAUSE_S
