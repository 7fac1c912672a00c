"""Of several signals that end a launch the first one counts."""

import signal

import pytest
from torch.distributed.elastic.multiprocessing.api import SignalException

from trainer_hooks.launch.first_signal import ENDING, FirstSignal, heeded

BY_HAND = [signal.SIGINT, signal.SIGQUIT]
ASKED = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1]


@pytest.mark.parametrize("number", [*BY_HAND, *ASKED])
def test_first_signal_ends_the_launch(number: signal.Signals) -> None:
    """As torchrun has it."""
    with pytest.raises(SignalException) as raised:
        FirstSignal()(number, None)
    assert raised.value.sigval is number


@pytest.mark.parametrize(("number", "kills"), [(n, 1) for n in BY_HAND] + [(n, 0) for n in ASKED])
def test_ranks_are_killed_when_somebody_at_a_terminal_says_it_again(
    number: signal.Signals, kills: int
) -> None:
    """And only then: a session that ends, or a scheduler, says it twice without meaning more."""
    first, killed = FirstSignal(), list[str]()
    first.kill_by(lambda: killed.append("all"))
    first.take()
    first(number, None)
    assert len(killed) == kills


def test_signal_is_dropped_when_ranks_are_ended_and_there_are_none() -> None:
    """Nothing is left to do."""
    first = FirstSignal()
    first.take()
    first(signal.SIGINT, None)


def test_signal_is_raised_again_when_nothing_came_of_it() -> None:
    """A log line that it interrupts takes its exception, and says that as a fault of the line."""
    first = FirstSignal()
    first.raise_again()
    with pytest.raises(SignalException):
        first(signal.SIGTERM, None)
    for _ in range(2):
        with pytest.raises(SignalException) as raised:
            first.raise_again()
        assert raised.value.sigval is signal.SIGTERM
    first.take()
    first.raise_again()


def test_signal_is_not_heeded_when_the_launch_was_started_to_ignore_it() -> None:
    """nohup does that."""
    assert heeded() == list(ENDING)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert heeded() == [name for name in ENDING if name != "SIGHUP"]
    finally:
        signal.signal(signal.SIGHUP, before)
