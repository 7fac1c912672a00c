"""Hearing a signal while the main thread sits in a collective.

Python runs signal handlers on the main thread, between bytecodes: a rank inside an all_reduce
hears nothing for as long as it waits (measured: sent at 1.0 s, handled at 5.0 s; trainer-facts 0,
2026-11-30). The C level, though, writes the signal's number to the wake-up descriptor at once,
and a thread can read that.
"""

import contextlib
import os
import signal
import weakref
from collections.abc import Callable
from types import FrameType

from trainer_hooks.errors import ConfigError

STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)

ENDING_SIGNALS = (*STOP_SIGNALS, signal.SIGHUP)
"""SIGHUP is a stop as well where it would end the process: systemd sends it to all of a login
session right after SIGTERM (systemd.kill(5), SendSIGHUP, read 2026-11-30). nohup has it ignored,
and who has a handler for it means something else."""

BY_HAND_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
"""What somebody at a terminal sends, who wants the job to end and not to be started again."""

_Handler = Callable[[int, FrameType | None], object] | int | None


class SignalPipe:
    """The stop signals of this process, as a readable descriptor and a set of numbers.

    A handler does nothing but note the number (frameworks may take the wake-up descriptor for
    themselves) and call the handler that was there before. Forked children get the old handlers
    back and no descriptor, so that a signal to a DataLoader worker never looks like one to us.

    Call ``install`` and ``close`` from the main thread.

    Raises:
        ConfigError: ``install`` was not called from the main thread.
    """

    def __init__(self) -> None:
        self.received: set[int] = set()
        self._previous: dict[int, _Handler] = {}
        self._read_end = self._write_end = self._previous_fd = -1
        # The fork hook can't be taken back: it must not keep this object alive.
        forget = weakref.WeakMethod(self._forget_in_child)
        os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    def install(self) -> int:
        """Start to listen; return the descriptor that turns readable on a signal."""
        self._read_end, self._write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._previous_fd = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
            is_ending = signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
            for number in ENDING_SIGNALS if is_ending else STOP_SIGNALS:
                self._previous[number] = signal.signal(number, self._note)
        except ValueError as error:
            self._close_pipe()
            raise ConfigError("TrainerHooks must be entered in the main thread") from error
        return self._read_end

    def drain(self) -> None:
        """Take what the descriptor holds, and pass it on to the previous owner."""
        with contextlib.suppress(BlockingIOError):
            while numbers := os.read(self._read_end, 512):
                self.received.update(n for n in numbers if n in self._previous)
                self._pass_on(numbers)

    def wake(self) -> None:
        """Make the descriptor readable without a signal."""
        with contextlib.suppress(BlockingIOError):  # full is readable too
            os.write(self._write_end, b"\0")

    def close(self) -> None:
        """Give handlers and descriptor back."""
        if self._read_end == -1:
            return
        self._restore()
        self._close_pipe()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received.add(number)
        previous = self._previous.get(number)
        if callable(previous):
            previous(number, frame)

    def _pass_on(self, numbers: bytes) -> None:
        if self._previous_fd != -1:
            with contextlib.suppress(OSError):  # full, or closed without a word
                os.write(self._previous_fd, numbers)

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            if signal.getsignal(number) == self._note:
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
        # Who has taken the handler over since may call ours still, which calls the one before.
        try:
            current = signal.set_wakeup_fd(self._previous_fd)
        except (OSError, ValueError):  # its owner has closed it
            current = signal.set_wakeup_fd(-1)
        if current not in (self._write_end, -1):
            signal.set_wakeup_fd(current)

    def _forget_in_child(self) -> None:
        if self._read_end != -1:
            self._restore()
            self._close_pipe()
            self.received.clear()

    def _close_pipe(self) -> None:
        os.close(self._read_end)
        os.close(self._write_end)
        self._read_end = self._write_end = -1
