"""Signals the process whose pid a pid file holds: a hint to a trainer that reads no flag file."""

import os
import signal
import stat
from functools import partial
from pathlib import Path

from watcher.errors import ActionRefused, ActionRetryable
from watcher.notice import Standing
from watcher.side_thread import SideThread

_PID_FILE_LIMIT_BYTES = 64


class SignalProcess:
    """Sends a process one signal, however many notices in force tell of its node's end.

    The same end is often told on two roads, and a second SIGTERM means "at once" to many programs.
    A process that takes the first one's place is signalled by the next notice.

    What was sent is not kept on disk: a daemon that was killed between flag and signal must send
    it after its restart, so one restarted after both sends it once more.

    The process is held by a pidfd before the pid file is read again, so a pid that has passed on
    to another process between the two is never signalled. It is never looked up by name.
    """

    name = "signal"

    def __init__(self, pid_file: Path, number: signal.Signals) -> None:
        self._pid_file = pid_file
        self._number = number
        self._sent: dict[str, int] = {}  # the process that got it, by the id of each notice
        self._thread = SideThread[str](self.name)

    async def run(self, standing: Standing, /) -> str:
        """Send the signal; see :class:`base.Action`.

        Raises:
            ActionRetryable: The pid file is missing or unreadable, or its process has gone.
            ActionRefused: The daemon may not signal that process.
        """
        return await self._thread.call(lambda: partial(self._send, standing.notice.id))

    async def undo(self, standing: Standing, /) -> str:
        """Forget the notice: a signal can't be taken back, but the next one is a new one."""
        self._sent.pop(standing.notice.id, None)
        return f"{self._number.name} can't be taken back"

    def _send(self, notice_id: str) -> str:
        if notice_id in self._sent:
            return f"{self._number.name} was sent before"
        pid = self._pid()
        if pid in self._sent.values():
            self._sent[notice_id] = pid
            return f"{self._number.name} was sent before, for another notice"
        try:
            descriptor = os.pidfd_open(pid)
        except OSError as error:
            raise ActionRetryable(
                f"no process {pid} of {self._pid_file} in our pid namespace: {error.strerror}"
            ) from error
        try:
            if self._pid() != pid:
                raise ActionRetryable(f"{self._pid_file} changed while it was read")
            signal.pidfd_send_signal(descriptor, self._number)
        except PermissionError as error:
            raise ActionRefused(
                f"may not signal process {pid} of {self._pid_file}: run the daemon as the same "
                "user, or give it CAP_KILL"
            ) from error
        except ProcessLookupError as error:
            raise ActionRetryable(f"process {pid} of {self._pid_file} has ended") from error
        finally:
            os.close(descriptor)
        self._sent[notice_id] = pid
        return f"sent {self._number.name} to process {pid} of {self._pid_file}"

    def _pid(self) -> int:
        """Return the pid in the pid file, whose writer is not trusted.

        0, 1 and negative numbers would mean a group, init or everybody.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        text = b""
        try:
            with os.fdopen(os.open(self._pid_file, flags), "rb") as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    text = file.read(_PID_FILE_LIMIT_BYTES).strip()
        except OSError as error:
            raise ActionRetryable(f"no pid in {self._pid_file}: {error.strerror}") from error
        pid = int(text) if text.isdigit() and len(text) < 10 else 0
        if pid <= 1 or pid == os.getpid():
            raise ActionRetryable(f"no pid in {self._pid_file}: {text!r}")
        return pid
