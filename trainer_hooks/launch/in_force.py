"""What forbids a start: a stop notice in force on this node, by the flag file or by its watcher."""

import logging
import time
from collections.abc import Callable

from trainer_hooks.clock import boottime_s
from trainer_hooks.errors import FlagError, NoticeUnknownError
from trainer_hooks.flag import (
    FLAG_NAME,
    OVERDUE_S,
    UNREADABLE,
    StopNotice,
    read_flag,
    run_directory,
)
from trainer_hooks.notice_url import ask, notice_url

log = logging.getLogger(__name__)


PAUSE_S = 1.0
"""How long a launch that waits does not look, in seconds: much less than it takes to start."""


def stop_in_force() -> StopNotice | None:
    """Return the notice that forbids a start; blocks for seconds where the watcher hangs.

    Raises:
        ConfigError: ``REPRIEVE_NOTICE_URL`` is no URL.
    """
    return _Looks().stop()


def wait_while_in_force(pause: Callable[[float], None] = time.sleep) -> None:
    """Return when no notice forbids a start any more; at once where none does.

    Without torch, as it may take for as long as a cloud leaves a notice up. Call it from the main
    thread, whose handlers then end the wait.

    Raises:
        ConfigError: As above.
    """
    looks = _Looks()
    waits_for: StopNotice | None = None
    while (notice := looks.stop()) is not None:
        if waits_for is None or notice.id != waits_for.id:
            log.info("%s: waiting for its end", _in_force(notice))
        waits_for = notice
        pause(PAUSE_S)
    if waits_for is not None:
        log.info("stop notice %s holds nobody back any more", waits_for.id)


def said_of(notice: StopNotice) -> str:
    """Return for people which notice lets a launch start nothing, and what to do about it."""
    if not notice.source.startswith(("flag", "url")):
        return f"told to stop by {notice.id}"  # and who has sent it knows the rest
    todo = "start the same command again after that (--when-notice=wait does), or elsewhere now"
    return f"{_in_force(notice)}: {todo}"


def _in_force(notice: StopNotice) -> str:
    until = "until the watcher takes it back"
    if notice.deadline_s is not None:
        # Not by datetime, which ends with the year 9999: anybody's date may stand in a flag.
        ends = time.gmtime(time.time() + notice.deadline_s - boottime_s() + OVERDUE_S)
        said = time.strftime("%Y-%m-%d %H:%M:%S", ends)
        until = f"until {said} UTC, ten minutes past its deadline, if it is not taken back before"
    return f"stop notice {notice.id} is in force on this node {until}"


class _Looks:
    """Looks at what is in force, once or again and again; what is the same is said once."""

    def __init__(self) -> None:
        self._said: dict[int, str] = {}  # by its level
        self._told: StopNotice | None = None  # what the watcher said when it last said anything

    def stop(self) -> StopNotice | None:
        """Return what forbids a start now."""
        for look in (self._in_flag, self._by_watcher):
            notice = look()
            if notice is None or not notice.is_stop:
                continue
            if not notice.is_overdue:
                return notice
            self._say(
                logging.WARNING,
                f"notice {notice.id} is long past its deadline and this node still lives: "
                "starting all the same",
            )
        return None

    def _in_flag(self) -> StopNotice | None:
        try:
            return read_flag(run_directory() / FLAG_NAME)
        except (FlagError, OSError) as error:
            self._say(logging.ERROR, f"flag file taken as a stop: {error}")
            return UNREADABLE

    def _by_watcher(self) -> StopNotice | None:
        """Ask the watcher, if one is named. What can't be learnt takes nothing back.

        Where it has said nothing yet, the ranks go on asking.
        """
        url = notice_url()
        if url is None:
            return None
        try:
            self._told = ask(url, None, 0.0).notice()
        except NoticeUnknownError as error:
            if self._told is None:
                said = "starting without knowing whether a notice is in force"
            else:
                said = f"notice {self._told.id} stands, as far as anybody knows"
            self._say(logging.WARNING, f"{said}: {error}")
        except FlagError as error:
            self._say(logging.ERROR, f"watcher's answer taken as a stop: {error}")
            self._told = UNREADABLE
        return self._told

    def _say(self, level: int, text: str) -> None:
        if self._said.get(level) != text:
            self._said[level] = text
            log.log(level, "%s", text)
