"""Blocking calls beside the loop: in turn, isolated, and left behind when they hang."""

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.support.clocks import eventually
from watcher import side_thread
from watcher.side_thread import SideThread


def planned(work: Callable[[], str]) -> Callable[[], Callable[[], str]]:
    """Wrap work that needs no look at the state."""
    return lambda: work


async def test_call_returns_or_raises_what_the_work_does_when_awaited() -> None:
    """The result and the error both cross back into the loop."""
    thread = SideThread[str]("test")
    assert await thread.call(planned(lambda: threading.current_thread().name)) == "test"

    def fail() -> str:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await thread.call(planned(fail))
    assert await thread.call(planned(lambda: "again")) == "again"


async def test_calls_take_turns_when_made_at_once() -> None:
    """Plans and work of one call end before those of the next begin."""
    thread = SideThread[str]("test")
    order: list[str] = []

    def plan(name: str) -> Callable[[], str]:
        order.append(f"plan {name}")
        return partial(work, name)

    def work(name: str) -> str:
        time.sleep(0.01)  # long enough for the others to overtake, if they could
        order.append(f"work {name}")
        return name

    names = ["a", "b", "c"]
    assert await asyncio.gather(*(thread.call(partial(plan, name)) for name in names)) == names
    assert order == [f"{what} {name}" for name in names for what in ("plan", "work")]


async def test_call_waits_for_the_one_that_hangs_when_that_one_was_given_up() -> None:
    """A second call is neither run beside the first nor refused; two threads do not interfere."""
    stuck, release, other = SideThread[str]("stuck"), threading.Event(), SideThread[str]("other")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await stuck.call(planned(lambda: str(release.wait(20))))
    assert await other.call(planned(lambda: "free")) == "free"
    waiting = asyncio.create_task(stuck.call(planned(lambda: str(release.is_set()))))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    release.set()
    assert await waiting == "True"


async def test_call_waits_for_a_thread_when_the_system_allows_no_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One log line, the plan made anew, and a caller that gives up leaves the next one a turn."""
    thread, allowed, plans = SideThread[str]("test"), threading.Event(), list[str]()
    start = threading.Thread.start

    def scarce(one: threading.Thread) -> None:
        if not allowed.is_set():
            raise RuntimeError("can't start new thread")
        start(one)

    def plan() -> Callable[[], str]:
        plans.append("made")
        return lambda: "worked"

    monkeypatch.setattr(threading.Thread, "start", scarce)
    monkeypatch.setattr(side_thread, "_NO_THREAD_WAIT_S", 0.005)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await thread.call(plan)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    waiting = asyncio.create_task(thread.call(plan))
    made = len(plans)
    await eventually(lambda: len(plans) >= made + 2)
    allowed.set()
    assert await waiting == "worked"


def test_call_leaves_the_thread_behind_when_the_loop_ends() -> None:
    """A hanging call keeps neither the loop nor the process from ending."""
    release = threading.Event()

    async def hang() -> None:
        async with asyncio.timeout(0.02):
            await SideThread[str]("left").call(planned(lambda: str(release.wait(20))))

    with pytest.raises(TimeoutError):
        asyncio.run(hang())
    left = [thread for thread in threading.enumerate() if thread.name == "left"]
    assert [thread.daemon for thread in left] == [True]
    release.set()
    left[0].join(10)
    assert not left[0].is_alive()
