"""SIGHUP: a stop where it would end the process, and otherwise none of our business."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from trainer_hooks.signals import SignalPipe


@contextmanager
def installed() -> Iterator[SignalPipe]:
    """Install a pipe."""
    pipe = SignalPipe()
    pipe.install()
    try:
        yield pipe
    finally:
        pipe.close()


def test_hangup_is_a_stop_when_nobody_handles_it() -> None:
    """The end of a login session comes with SIGTERM and SIGHUP, and ranks are to outlive both."""
    with installed() as pipe:
        os.kill(os.getpid(), signal.SIGHUP)
        pipe.drain()
        assert pipe.received == {signal.SIGHUP}
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL


def test_hangup_is_nothing_when_it_is_ignored() -> None:
    """As nohup has it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with installed() as pipe:
            os.kill(os.getpid(), signal.SIGHUP)
            pipe.drain()
            assert pipe.received == set()
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_hangup_is_the_programs_when_it_has_a_handler() -> None:
    """It may mean a new log file, say; only its number comes out of the descriptor."""
    heard: list[int] = []
    signal.signal(signal.SIGHUP, lambda number, _: heard.append(number))
    try:
        with installed() as pipe:
            os.kill(os.getpid(), signal.SIGHUP)
            pipe.drain()
            assert (pipe.received, heard) == (set(), [signal.SIGHUP])
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
