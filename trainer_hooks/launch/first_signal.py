"""The signals that end a launch: the first one counts, and those after it break nothing off.

torchrun raises an exception for each of them. One that comes while the first is carried out breaks
off the wait for ranks that save, and the launcher leaves them behind as orphans.
"""

import os
import signal
from collections.abc import Callable
from types import FrameType

from torch.distributed.elastic.multiprocessing.api import SignalException

from trainer_hooks.signals import BY_HAND_SIGNALS

ENDING = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1")
"""torchrun's own, and SIGUSR1: an agent that does not handle it dies and leaves orphans."""


def heeded() -> list[str]:
    """Return which of them are to end a launch: not those that it was started to ignore.

    nohup starts it so for SIGHUP, and a shell without job control what it puts in the background
    for SIGINT and SIGQUIT.
    """
    return [name for name in ENDING if signal.getsignal(signal.Signals[name]) != signal.SIG_IGN]


class FirstSignal:
    """The handler of all these signals, for one launch."""

    def __init__(self) -> None:
        self._is_taken = False
        self._raised: SignalException | None = None
        self._kill_ranks: Callable[[], None] | None = None

    def kill_by(self, kill_ranks: Callable[[], None]) -> None:
        """Learn how the ranks are ended without being given time."""
        self._kill_ranks = kill_ranks

    def take(self) -> None:
        """Let none break off what is under way now: the ranks are being ended."""
        self._is_taken = True
        self._raised = None

    def raise_again(self) -> None:
        """Raise once more what has been raised and has not come to anything.

        It goes to whatever the signal has interrupted, and there many an ``except Exception`` takes
        it for its own: that of every log handler, or of an attempt at a rendezvous.

        Raises:
            SignalException: There was one.
        """
        if self._raised is not None:
            raise self._raised

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal.

        Raises:
            SignalException: It is the first; torchrun hands it to the ranks and waits for them.
        """
        if not self._is_taken:
            self._is_taken = True
            number = signal.Signals(number)
            said = f"process {os.getpid()} got signal {number}"
            self._raised = SignalException(said, sigval=number)
            raise self._raised
        # A second one, of somebody who has waited long enough, is meant.
        if number in BY_HAND_SIGNALS and self._kill_ranks is not None:
            self._kill_ranks()
