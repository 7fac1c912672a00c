"""Looks for a user's stop request beside the checkpoints, in a thread that a dead storage may hold.

One rank looks for all, every few seconds: a request is no notice, and no storage is to be asked a
thousand times a second for it.
"""

import logging
import threading
from collections.abc import Callable

from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.stop_request import asked, confirm, forget_before
from trainer_hooks.errors import CheckpointError
from trainer_hooks.flag import USER, StopNotice

log = logging.getLogger(__name__)

LOOK_EVERY_S = 3.0
"""In seconds. NFS shows a new file in a directory up to a minute late (nfs(5), acdirmax)."""

NO_HURRY_S = 86400.0
"""What a user's stop is taken to leave: nobody takes the node away, so the step is saved."""

CLOSE_S = 1.0
"""Longest that the end of a run waits for the thread, in seconds."""


class RequestFollower:
    """Keeps what a user has asked of this attempt.

    Args:
        root: The checkpoint directory.
        attempt: Number of this attempt; what is asked of others is not for us.
        on_news: Called once, from the follower's thread, when there is a request.
        step: Returns the steps finished, for the user.
    """

    def __init__(
        self, root: Place, attempt: int, on_news: Callable[[], None], step: Callable[[], int]
    ) -> None:
        self._root = root
        self._attempt = attempt
        self._on_news = on_news
        self._step = step
        self._notice: StopNotice | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="reprieve-request", daemon=True)

    def start(self) -> None:
        """Look from now on; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Look no longer; a look under way may outlive this as long as the storage holds it."""
        self._closing.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=CLOSE_S)

    def notice(self) -> StopNotice | None:
        """Return the stop that a user has asked for, None if nobody has; any thread may ask."""
        return self._notice

    def _follow(self) -> None:
        said = ""
        try:
            forget_before(self._root, self._attempt)
        except CheckpointError as error:
            log.info("%s", error)
        while not self._closing.wait(LOOK_EVERY_S):
            try:
                reason = asked(self._root, self._attempt)
            except CheckpointError as error:  # unknown is no request, and asked again
                if said != (said := str(error)):
                    log.warning("whether a user asks for a stop is unknown: %s", error)
                continue
            if reason is not None:
                self._take(reason)
                return

    def _take(self, reason: str) -> None:
        log.warning("notice notice_id=%s source=user is_stop=True reason=%r", USER, reason)
        self._notice = StopNotice(
            id=USER, is_stop=True, deadline_s=None, source="user", window_s=NO_HURRY_S
        )
        self._on_news()
        try:
            confirm(self._root, self._attempt, self._step())
        except CheckpointError as error:
            log.warning("the user cannot be told that the request was heard: %s", error)
