"""StopListener: one thread per process that learns of a notice: by file, over HTTP, by signal.

The training loop never waits for it: it tells whoever asked to be told, and keeps the most
urgent notice for everybody else to look at.
"""

import contextlib
import logging
import math
import os
import select
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from inotify_simple import INotify, flags

from trainer_hooks.clock import boottime_s
from trainer_hooks.errors import FlagError
from trainer_hooks.flag import (
    DEADLINE_JITTER_S,
    FLAG_NAME,
    UNREADABLE,
    StopNotice,
    read_flag,
    run_directory,
)
from trainer_hooks.notice_follower import NoticeFollower
from trainer_hooks.notice_url import notice_url
from trainer_hooks.signals import SignalPipe

log = logging.getLogger(__name__)

ORPHAN_LIMIT_S = 120.0
"""How long a rank may outlive its launcher, whatever it hangs in: nobody is left to kill it, and it
holds its GPU. As long as a launcher gives after SIGTERM where nobody has said (design.md 4)."""

LOOK_EVERY_S = 1.0
"""Also without an event: gVisor and network file systems deliver none (node-facts, 2026-11-30)."""


class StopListener:
    """Watches the flag file and the stop signals from a thread of its own.

    Beside them a watcher is asked over HTTP where ``REPRIEVE_NOTICE_URL`` names one; either is
    enough.

    Args:
        on_news: Called from the listener's thread whenever ``pending()`` has changed.
        flag_path: The flag file; None stands for the run directory's.
        launcher: Descriptor of the launcher's process, whose death is a stop too; closed with us.
        grace_s: How long a stop signal leaves; None if nobody knows.
        on_orphaned: Called from the listener's thread when the launcher has died, with the instant
            on CLOCK_BOOTTIME by which this process has to be gone. Nobody can take that back.
        on_awake: Called from the listener's thread every second, if only it runs.

    Raises:
        ConfigError: ``REPRIEVE_NOTICE_URL`` is no URL.
    """

    def __init__(  # noqa: PLR0913 - whom it tells what, once and by name
        self,
        on_news: Callable[[], None],
        *,
        flag_path: Path | None = None,
        launcher: int | None = None,
        grace_s: float | None = None,
        on_orphaned: Callable[[float], None] = lambda _: None,
        on_awake: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_awake = on_awake
        self._grace_s = grace_s
        self._on_orphaned = on_orphaned
        self._signalled_s: float | None = None
        self._launcher = launcher
        self._launcher_is_gone = False
        self._on_news = on_news
        self._flag_path = flag_path or run_directory() / FLAG_NAME
        self._signals = SignalPipe()
        self._pending: StopNotice | None = None
        self._flag_read: StopNotice | None = None
        self._unreadable: set[str] = set()
        url = notice_url()
        self._follower = None if url is None else NoticeFollower(url, self._signals.wake)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="reprieve-stop", daemon=True)
        self._signal_fd = -1

    def start(self) -> None:
        """Look once, then listen. Call it from the main thread."""
        self._signal_fd = self._signals.install()
        if self._follower is not None:
            self._follower.start()
        elif not self._flag_path.parent.is_dir():
            log.warning(
                "run directory %s is not there: until it is, only a signal tells of a notice "
                "(is the watcher running, is its directory mounted, is REPRIEVE_RUN_DIR right?)",
                self._flag_path.parent,
            )
        self._look()
        self._thread.start()

    def close(self) -> None:
        """Stop listening and give the signal handlers back. Call it from the main thread."""
        if self._follower is not None:
            self._follower.close()
        self._closing.set()
        if self._thread.is_alive():
            self._signals.wake()
            self._thread.join(timeout=2 * LOOK_EVERY_S)
        if self._launcher is not None and not self._thread.is_alive():
            os.close(self._launcher)
            self._launcher = None
        self._signals.close()

    def pending(self) -> StopNotice | None:
        """Return the most urgent notice in force on this node, or None; any thread may ask."""
        return self._pending

    def _listen(self) -> None:
        # Not select(): a rank that hosts a Store of hundreds holds descriptors beyond its 1023.
        poll = select.poll()
        poll.register(self._signal_fd, select.POLLIN)
        if self._launcher is not None:
            poll.register(self._launcher, select.POLLIN)
        events: INotify | None = None
        while not self._closing.is_set():
            self._on_awake()
            if events is None:
                events = self._watch_directory()
                if events is not None:
                    poll.register(events.fileno(), select.POLLIN)
            self._look()  # after the watch is set: nothing falls between
            ready = {descriptor for descriptor, _ in poll.poll(LOOK_EVERY_S * 1000)}
            if self._launcher in ready:
                poll.unregister(self._launcher)
                self._launcher_is_gone = True
                limit_s = ORPHAN_LIMIT_S if self._grace_s is None else self._grace_s
                self._on_orphaned(boottime_s() + limit_s)
            if events is not None:
                events.read(timeout=0)
            if not self._closing.is_set():
                self._signals.drain()
        if events is not None:
            events.close()

    def _watch_directory(self) -> INotify | None:
        """Ask for events of the run directory, which may come into being later.

        None also where the node's inotify instances (128 for each user) are all taken.
        """
        wanted = flags.MOVED_TO | flags.CREATE | flags.CLOSE_WRITE | flags.DELETE
        with contextlib.ExitStack() as stack:
            try:
                events = stack.enter_context(INotify())
                events.add_watch(self._flag_path.parent, wanted)
            except OSError:
                return None
            stack.pop_all()
            return events

    def _look(self) -> None:
        notice = self._most_urgent()
        if _same(notice, self._pending):
            return
        if notice is None:
            log.warning("notice withdrawn notice_id=%s", self._pending and self._pending.id)
        else:
            log.warning(
                "notice notice_id=%s source=%s is_stop=%s", notice.id, notice.source, notice.is_stop
            )
        self._pending = notice
        self._on_news()

    def _most_urgent(self) -> StopNotice | None:
        """A notice that says stop knows more than a signal, which may leave less; advice is last.

        Of two that say stop, in the flag file and over HTTP, the earlier deadline counts.
        """
        heard = (self._heard("flag file", self._flag), self._heard("watcher's answer", self._told))
        signalled = self._signalled()
        notice = min((one for one in heard if one is not None), key=_rank, default=None)
        if notice is not None and notice.is_stop:
            stops = [one for one in (*heard, signalled) if one is not None and one.is_stop]
            known = [one.deadline_s for one in stops if one.deadline_s is not None]
            return replace(notice, deadline_s=min(known, default=None))
        if signalled is not None:
            return signalled
        if self._launcher_is_gone:
            return StopNotice(id="launcher-gone", is_stop=True, deadline_s=None, source="launcher")
        return notice

    def _signalled(self) -> StopNotice | None:
        if not self._signals.received:
            return None
        if self._signalled_s is None:
            self._signalled_s = boottime_s()
        names = "+".join(signal.Signals(n).name for n in sorted(self._signals.received))
        deadline_s = None if self._grace_s is None else self._signalled_s + self._grace_s
        return StopNotice(id=names, is_stop=True, deadline_s=deadline_s, source="signal")

    def _heard(self, what: str, read: Callable[[], StopNotice | None]) -> StopNotice | None:
        """Return what is read; what cannot be understood is a stop, and said once."""
        try:
            notice = read()
        except FlagError as error:
            if what not in self._unreadable:
                self._unreadable.add(what)
                log.error("%s taken as a stop with unknown deadline: %s", what, error)  # noqa: TRY400 - no traceback: the message is whole
            return UNREADABLE
        self._unreadable.discard(what)
        return None if notice is None or notice.is_overdue else notice

    def _flag(self) -> StopNotice | None:
        try:
            self._flag_read = read_flag(self._flag_path)
        except OSError as error:
            # Out of descriptors or memory: our own trouble says nothing about the notice.
            log.warning("flag file not looked at: %s", error)
        return self._flag_read

    def _told(self) -> StopNotice | None:
        return None if self._follower is None else self._follower.notice()


def _rank(notice: StopNotice) -> tuple[bool, float]:
    """Sort key, the most urgent first: stop before advice, then the earliest deadline known."""
    return not notice.is_stop, math.inf if notice.deadline_s is None else notice.deadline_s


def _same(one: StopNotice | None, other: StopNotice | None) -> bool:
    """Compare what matters: a deadline read twice from two clocks differs by microseconds."""
    if one is None or other is None:
        return one is other
    if (one.id, one.is_stop) != (other.id, other.is_stop):
        return False
    if one.deadline_s is None or other.deadline_s is None:
        return one.deadline_s == other.deadline_s
    return abs(one.deadline_s - other.deadline_s) < DEADLINE_JITTER_S
