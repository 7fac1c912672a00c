"""Signals, heard beside whatever else wants them, and given back as they were."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import FrameType

import pytest
from torch.distributed import HashStore

from tests.support.leaks import open_descriptors
from tests.support.waiting import wait_until
from trainer_hooks.errors import ConfigError
from trainer_hooks.signals import STOP_SIGNALS, SignalPipe


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """Note the stop signals in a list: the program's own handlers, from before ours."""
    heard: list[int] = []
    before = {n: signal.signal(n, lambda number, _: heard.append(number)) for n in STOP_SIGNALS}
    yield heard
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def pipe(heard: list[int]) -> Iterator[SignalPipe]:  # noqa: ARG001 - in force before ours
    """Install a pipe over the program's own handlers."""
    pipe = SignalPipe()
    pipe.install()
    yield pipe
    pipe.close()


def wait(store: HashStore) -> None:
    """Block in C++, as a collective does: Python's handlers don't run meanwhile."""
    store.wait(["release"], timedelta(seconds=30))


def wait_until_main_thread_is_in(function: str) -> None:
    """Return when the main thread sits in C below ``function``."""
    main, stat = threading.main_thread().ident, Path(f"/proc/self/task/{os.getpid()}/stat")
    assert main is not None

    def sits_there() -> bool:
        time.sleep(0.01)  # it may have what it waits for in Python
        is_asleep = stat.read_text().rpartition(") ")[2][0] == "S"
        return is_asleep and sys._current_frames()[main].f_code.co_name == function

    wait_until(lambda: all(sits_there() for _ in range(5)))


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_signal_is_noted_and_passed_on_when_the_program_had_a_handler(
    pipe: SignalPipe, heard: list[int], number: int
) -> None:
    """Ours comes first, theirs still runs."""
    os.kill(os.getpid(), number)
    assert pipe.received == {number}
    assert heard == [number]


def test_signal_reaches_a_thread_when_the_main_thread_sits_in_a_collective(
    pipe: SignalPipe, heard: list[int]
) -> None:
    """The number comes out of the descriptor before any handler could run."""
    store, order = HashStore(), list[str]()

    def has_news() -> bool:
        pipe.drain()
        return bool(pipe.received)

    def listen() -> None:
        wait_until_main_thread_is_in("wait")
        os.kill(os.getpid(), signal.SIGTERM)
        wait_until(has_news)
        order.append(f"told, {len(heard)} handlers run")
        store.set("release", "1")

    listener = threading.Thread(target=listen)
    listener.start()
    wait(store)
    order.append("returned")
    listener.join()
    assert order == ["told, 0 handlers run", "returned"]
    assert heard == [signal.SIGTERM]


def test_handlers_are_given_back_when_it_is_closed(heard: list[int]) -> None:
    """Also when it is closed twice; and what comes after is not ours."""
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    pipe = SignalPipe()
    pipe.install()
    pipe.close()
    pipe.close()
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before
    os.kill(os.getpid(), signal.SIGTERM)
    assert (pipe.received, heard) == (set(), [signal.SIGTERM])


def test_handler_on_top_of_ours_stays_when_it_is_closed(pipe: SignalPipe, heard: list[int]) -> None:
    """And it still reaches the one below ours."""
    ours = signal.getsignal(signal.SIGTERM)
    on_top: list[int] = []

    def chaining(number: int, frame: FrameType | None) -> None:
        on_top.append(number)
        assert callable(ours)
        ours(number, frame)

    signal.signal(signal.SIGTERM, chaining)
    pipe.close()
    assert signal.getsignal(signal.SIGTERM) is chaining
    os.kill(os.getpid(), signal.SIGTERM)
    assert on_top == heard == [signal.SIGTERM]


def test_default_is_given_back_when_there_was_no_handler() -> None:
    """A second SIGTERM after the block ends the process as it always did."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    pipe = SignalPipe()
    pipe.install()
    pipe.close()
    assert signal.signal(signal.SIGTERM, before) is signal.SIG_DFL


def test_install_is_refused_when_it_is_called_from_another_thread() -> None:
    """Python lets only the main thread set handlers: say so, and leave nothing open."""
    before, errors = open_descriptors(), list[Exception]()

    def install() -> None:
        try:
            SignalPipe().install()
        except ConfigError as error:
            errors.append(error)

    thread = threading.Thread(target=install)
    thread.start()
    thread.join()
    assert "main thread" in str(errors[0])
    assert open_descriptors() == before


@pytest.fixture
def loop(heard: list[int]) -> Iterator[asyncio.AbstractEventLoop]:  # noqa: ARG001 - in force before it
    """Make an event loop that does not run by itself."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def test_previous_owner_of_the_descriptor_is_fed_when_it_was_a_loop(
    loop: asyncio.AbstractEventLoop, heard: list[int]
) -> None:
    """Its callbacks run, for our signals and for others, during and after our time."""
    called: list[int] = []
    for number in (signal.SIGUSR2, signal.SIGTERM):
        loop.add_signal_handler(number, called.append, number)
    pipe = SignalPipe()
    pipe.install()
    os.kill(os.getpid(), signal.SIGUSR2)
    os.kill(os.getpid(), signal.SIGTERM)
    pipe.drain()
    loop.run_until_complete(asyncio.sleep(0.01))
    assert called == [signal.SIGUSR2, signal.SIGTERM]
    pipe.close()
    os.kill(os.getpid(), signal.SIGUSR2)
    loop.run_until_complete(asyncio.sleep(0.01))
    assert called[2:] == [signal.SIGUSR2]
    assert (pipe.received, heard) == ({signal.SIGTERM}, [])


def test_signal_is_noted_when_a_loop_has_taken_the_descriptor(
    pipe: SignalPipe, loop: asyncio.AbstractEventLoop
) -> None:
    """While it has it, and after it left none behind."""
    loop.add_signal_handler(signal.SIGUSR2, print)
    os.kill(os.getpid(), signal.SIGTERM)
    loop.close()
    os.kill(os.getpid(), signal.SIGUSR1)
    assert pipe.received == {signal.SIGTERM, signal.SIGUSR1}
    pipe.close()
    assert signal.set_wakeup_fd(-1) == -1


def test_signals_are_heard_when_the_previous_owner_has_closed_its_descriptor(
    heard: list[int],
) -> None:
    """Feeding it fails, and giving it back does: neither is our end."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(write_end)
    pipe = SignalPipe()
    pipe.install()
    os.close(read_end)
    os.close(write_end)
    for number in STOP_SIGNALS:
        os.kill(os.getpid(), number)
        pipe.drain()
    pipe.close()
    assert set(heard) == pipe.received == set(STOP_SIGNALS)
    assert signal.set_wakeup_fd(-1) == -1


def test_wake_returns_when_the_pipe_is_full(pipe: SignalPipe) -> None:
    """Whoever reads it finds it readable as it is."""
    for _ in range(70_000):
        pipe.wake()
    pipe.drain()
    assert pipe.received == set()


def test_child_dies_of_sigterm_and_its_parent_hears_nothing_when_it_was_forked(
    heard: list[int],
) -> None:
    """A forked DataLoader worker has the handlers from before and none of our descriptors."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    pipe = SignalPipe()
    descriptor = pipe.install()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        is_open = os.path.exists(f"/proc/self/fd/{descriptor}")  # noqa: PTH110 - few words in a forked child
        os.write(write_end, b"open" if is_open else b"shut")
        signal.pause()
        os._exit(0)
    said = os.read(read_end, 4)
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    pipe.drain()
    pipe.close()
    os.close(read_end)
    os.close(write_end)
    assert said == b"shut"
    assert os.WTERMSIG(status) == signal.SIGTERM
    assert (pipe.received, heard) == (set(), [])


def test_nothing_is_left_when_it_was_installed_and_closed_often(heard: list[int]) -> None:
    """Neither descriptors nor handlers nor references, whatever the fork hooks are."""
    before = open_descriptors()
    for _ in range(50):
        pipe = SignalPipe()
        pipe.install()
        pipe.close()
    assert open_descriptors() == before
    assert heard == []
