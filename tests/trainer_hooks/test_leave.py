"""Leaving: together, in bounded time, with one answer to whether the end was committed."""

import io
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from torch.distributed import DistNetworkError, HashStore

from trainer_hooks import leave
from trainer_hooks.leave import Departure, exit_at_once, exit_process
from trainer_hooks.signals import ENDING_SIGNALS
from trainer_hooks.world import World


def departures(size: int) -> list[Departure]:
    """Return the departures of all ranks."""
    store: Any = HashStore()
    return [Departure(World(rank=r, size=size, store=store, group=None)) for r in range(size)]


def together(calls: list[Callable[[], object]]) -> None:
    """Make calls at once, and wait for all."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_barrier_opens_when_all_have_come(size: int, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody is left out, and nobody waits in vain."""
    ranks = departures(size)
    together([lambda rank=rank: rank.barrier(30.0) for rank in ranks])  # type: ignore[misc]  # defaults bind
    assert caplog.messages == []


def test_host_of_the_store_leaves_last_when_all_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others still need it for their last word."""
    order = list[str]()
    ranks = departures(3)
    count = Departure._count

    def noted(departure: Departure, name: str) -> None:
        if name == "gone" and not departure._world.is_coordinator:
            order.append("other")
        count(departure, name)

    monkeypatch.setattr(Departure, "_count", noted)

    def leave_and_note(departure: Departure) -> None:
        departure.barrier(30.0)
        if departure._world.is_coordinator:
            order.append("host")

    together([lambda rank=rank: leave_and_note(rank) for rank in ranks])  # type: ignore[misc]  # defaults bind
    assert order == ["other", "other", "host"]


def test_barrier_gives_up_when_a_rank_never_comes(caplog: pytest.LogCaptureFixture) -> None:
    """A dead peer holds nobody past the deadline."""
    first, second, _ = departures(3)
    together([lambda: first.barrier(0.05), lambda: second.barrier(0.05)])
    assert len([line for line in caplog.messages if "left without the others" in line]) == 2


def test_barrier_gives_up_when_the_store_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """All is saved by then: no error any more."""

    def lost(*_: object) -> None:
        raise DistNetworkError("connection reset\nand a long trace")

    (alone,) = departures(1)
    monkeypatch.setattr(alone, "_count", lost)
    alone.barrier(30.0)
    assert caplog.messages == ["left without the others: connection reset"]


def test_host_leaves_when_the_others_do_not_say_that_they_are_gone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After its last words' time."""
    monkeypatch.setattr(leave, "LAST_WORDS_S", 0.05)
    host, other = departures(2)
    monkeypatch.setattr(other, "_count", lambda _: None)
    host._count("arrived")
    host.barrier(30.0)
    assert len(caplog.messages) == 1


def test_answer_is_the_first_ranks_when_they_have_seen_different_ends() -> None:
    """One exit code for all; and each end has its own answer."""
    first, second = departures(2)
    assert first.agree("commit/10", mine=True)
    assert second.agree("commit/10", mine=False)
    assert not second.agree("commit/20", mine=False)
    assert not first.agree("commit/20", mine=True)


@pytest.mark.usefixtures("outlived")
def test_process_is_deaf_to_stop_signals_when_it_exits() -> None:
    """The agent's must not change the code, nor the second one of a session's end."""
    with pytest.raises(SystemExit) as raised:
        exit_process(75, is_save_abandoned=False)
    assert raised.value.code == 75
    assert {signal.getsignal(number) for number in ENDING_SIGNALS} == {signal.SIG_IGN}


def code_of(end: Callable[[], object]) -> int:
    """Return the exit code of a forked child that calls ``end``, while a thread of it hangs."""
    child = os.fork()
    if child == 0:
        threading.Thread(target=threading.Event().wait).start()
        end()
        os._exit(99)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@pytest.mark.ranks
def test_process_ends_at_once_when_its_save_is_abandoned() -> None:
    """Threads that write to a dead disk are not waited for."""
    assert code_of(lambda: exit_process(75, is_save_abandoned=True)) == 75


@pytest.mark.ranks
def test_process_ends_when_the_guards_thread_ends_it() -> None:
    """Whatever the main thread hangs in."""

    def end() -> None:
        threading.Thread(target=exit_at_once, args=(75,)).start()
        threading.Event().wait()

    assert code_of(end) == 75


class Stuck(io.StringIO):
    """A stream whose reader has stopped to read, or has gone."""

    def __init__(self, error: OSError | None) -> None:
        super().__init__()
        self._error = error

    def flush(self) -> None:
        """Wait for ever, or fail."""
        if self._error is not None:
            raise self._error
        threading.Event().wait()


@pytest.mark.ranks
@pytest.mark.parametrize("error", [None, BrokenPipeError()], ids=["stuck", "broken"])
def test_process_ends_when_its_output_cannot_be_flushed(error: OSError | None) -> None:
    """The deadline comes before the last words."""

    def end() -> None:
        sys.stdout = Stuck(error)
        exit_at_once(75)

    assert code_of(end) == 75
