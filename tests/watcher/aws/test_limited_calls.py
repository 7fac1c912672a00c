"""Calls that hang: they end for their caller, and pile up no further than to a limit."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.support.clocks import eventually
from watcher.aws import limited_calls
from watcher.aws.limited_calls import LEFT_LIMIT, LimitedCalls
from watcher.errors import AwsCallFailed


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What hanging calls wait for; it comes at the latest with the test's end."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def renewed() -> list[str]:
    """Gets a word for each client that is given up."""
    return []


@pytest.fixture
def calls(renewed: list[str], monkeypatch: pytest.MonkeyPatch) -> LimitedCalls[str]:
    """Calls that may take as long as a busy machine does, unless the test is impatient."""
    monkeypatch.setattr(limited_calls, "CALL_LIMIT_S", 20.0)
    return LimitedCalls[str]("SQS Wait", lambda: renewed.append("renewed"))


@contextmanager
def impatient() -> Iterator[None]:
    """Let calls be left behind soon: for those that hang alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limited_calls, "CALL_LIMIT_S", 0.05)
        yield


def hanging(release: threading.Event) -> Callable[[], str]:
    """Return a call that comes back when it is released."""
    return lambda: str(release.wait(20))


async def test_next_call_passes_when_one_hangs(
    calls: LimitedCalls[str], release: threading.Event, renewed: list[str]
) -> None:
    """It has a thread of its own, and a client."""
    why = r"SQS Wait: no whole answer within 0\.05 s"
    with impatient(), pytest.raises(AwsCallFailed, match=why) as failure:
        await calls.call(hanging(release))
    assert failure.value.outcome == "timeout"
    assert renewed == ["renewed"]
    assert await calls.call(lambda: "done") == "done"
    assert renewed == ["renewed"]


async def test_no_call_is_begun_when_too_many_hang(
    calls: LimitedCalls[str], release: threading.Event
) -> None:
    """Threads and connections stay few, and one that comes back makes room again."""
    for _ in range(LEFT_LIMIT):
        with impatient(), pytest.raises(AwsCallFailed, match="no whole answer"):
            await calls.call(hanging(release))
    has_begun = threading.Event()

    def begin() -> str:
        has_begun.set()
        return "begun"

    with pytest.raises(AwsCallFailed, match=f"{LEFT_LIMIT} calls before this one") as failure:
        await calls.call(begin)
    assert failure.value.outcome == "timeout"
    assert not has_begun.is_set()
    release.set()
    await eventually(lambda: any(thread.is_idle for thread in calls._left))
    assert await calls.call(lambda: "done") == "done"


async def test_call_is_left_behind_when_its_caller_goes(
    calls: LimitedCalls[str], release: threading.Event, renewed: list[str]
) -> None:
    """An action's attempt is shorter than the call; the next attempt does not wait for it."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await calls.call(hanging(release))
    assert renewed == ["renewed"]
    assert await calls.call(lambda: "done") == "done"


async def test_failure_reaches_the_caller_when_the_call_raises(calls: LimitedCalls[str]) -> None:
    """As it is; the client is good."""

    def fail() -> str:
        raise AwsCallFailed("no", outcome="forbidden")

    with pytest.raises(AwsCallFailed, match="no") as failure:
        await calls.call(fail)
    assert failure.value.outcome == "forbidden"
