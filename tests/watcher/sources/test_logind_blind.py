"""The machine's own shutdown, while the bus or logind itself is away: blind, and never wrong."""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.fake_logind import FakeLogind, PrivateBus
from tests.support.hearing_logind import hearing
from watcher import login_manager
from watcher.sources import logind

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look and connect as often as a test has patience for."""
    monkeypatch.setattr(logind, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(logind, "_AGAIN_S", 0.02)


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[PrivateBus]:
    """Run a bus."""
    bus = PrivateBus(tmp_path)
    await bus.start()
    yield bus
    await bus.end()


async def test_notice_stays_and_source_is_blind_when_the_bus_is_gone(
    bus: PrivateBus, clock: TurnedClock
) -> None:
    """As in the middle of a shutdown; when it is back, logind's word counts again."""
    first, second = FakeLogind(), FakeLogind()
    first.limit_us = 60_000_000
    async with hearing(bus.address, clock) as ears:
        async with first.serving(bus.address):
            await eventually(lambda: ears.inhibitor == "held")
            first.announce(start=True)
            await eventually(lambda: ears.inbox.qsize() >= 1)
            await bus.end()
            await eventually(lambda: ears.why != "")
            assert ears.heard() == [False]
            assert first.locks() == 1, "the lock is no connection"
        await bus.start()
        second.is_preparing = True
        async with second.serving(bus.address):
            await eventually(lambda: ears.why == "")
            assert ears.heard() == []
            second.announce(start=False)
            await eventually(lambda: ears.heard() == [True])
            await eventually(lambda: second.locks() == 1)


async def test_lock_is_given_back_when_the_shutdown_began_while_the_bus_was_gone(
    bus: PrivateBus, clock: TurnedClock
) -> None:
    """Nobody heard the announcement, and the lock from before delays it all the same."""
    first, second = FakeLogind(), FakeLogind()
    async with hearing(bus.address, clock) as ears:
        async with first.serving(bus.address):
            await eventually(lambda: ears.inhibitor == "held")
            await bus.end()
            await eventually(lambda: ears.why != "")
        await bus.start()
        second.is_preparing, second.limit_us = True, 600_000
        async with second.serving(bus.address):
            await eventually(lambda: ears.inbox.qsize() >= 1)
            await eventually(lambda: first.locks() == 0)
            assert ears.inhibitor == "released"


async def test_lock_is_taken_anew_when_logind_is_another(
    bus: PrivateBus, clock: TurnedClock
) -> None:
    """Whatever the old one knew: the new lock first, then the old one back."""
    first, second = FakeLogind(), FakeLogind()
    async with hearing(bus.address, clock) as ears:
        async with first.serving(bus.address):
            await eventually(lambda: first.locks() == 1)
        await eventually(lambda: ears.why != "")
        assert first.locks() == 1
        async with second.serving(bus.address):
            await eventually(lambda: second.locks() == 1)
            await eventually(lambda: first.locks() == 0)
            assert ears.why == ""
            second.announce(start=True)
            await eventually(lambda: ears.inbox.qsize() >= 1)


@pytest.mark.parametrize("address", ["unix:path=/nonexistent/bus", "nonsense", "unix:x=1"])
async def test_source_is_blind_when_there_is_no_bus(address: str, clock: TurnedClock) -> None:
    """It may come up later; the address is in the reason."""
    async with hearing(address, clock) as ears:
        await eventually(lambda: address in ears.why)
        assert ears.heard() == []


async def test_source_is_blind_when_the_bus_does_not_answer(
    tmp_path: Path, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that is stopped accepts connections and says nothing."""
    monkeypatch.setattr(login_manager, "CALL_LIMIT_S", 0.1)
    path = tmp_path / "bus"

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        async with hearing(f"unix:path={path}", clock) as ears:
            await eventually(lambda: "no answer within 0.1 s" in ears.why)
