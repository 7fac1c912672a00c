"""The machine's own shutdown, against a logind of the test's own on a private bus."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.fake_logind import FakeLogind, PrivateBus
from tests.support.hearing_logind import BOOT_ID, hearing
from tests.support.trainer_words import say
from watcher import login_manager
from watcher.actions import all_saved
from watcher.errors import ConfigError
from watcher.notice import Notice, NoticeKind
from watcher.sources import logind
from watcher.sources.logind import ID, NAME, ROAD
from watcher.sources.logind_config import LogindConfig

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look and connect as often as a test has patience for."""
    monkeypatch.setattr(logind, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(logind, "_AGAIN_S", 0.02)
    monkeypatch.setattr(all_saved, "LOOK_EVERY_S", 0.02)


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[PrivateBus]:
    """Run a bus."""
    bus = PrivateBus(tmp_path)
    await bus.start()
    yield bus
    await bus.end()


@pytest.fixture
async def manager(bus: PrivateBus) -> AsyncIterator[FakeLogind]:
    """Run a logind on the bus."""
    manager = FakeLogind()
    async with manager.serving(bus.address):
        yield manager


def shutdown(clock: TurnedClock) -> Notice:
    """Build the notice that an earlier run has heard."""
    return Notice(id=ID, kind=NoticeKind.SHUTDOWN, source=NAME, received=clock())


def test_road_is_wanted_when_it_is_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside any cloud; a missing client is one line that names the extra."""
    assert ROAD.cloud is None
    assert ROAD.wanted(LogindConfig()) == {}
    assert ROAD.wanted(LogindConfig(watch="on")) == {"logind": {NoticeKind.SHUTDOWN}}
    monkeypatch.setattr(login_manager, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"logind.watch needs dbus-fast.*\[logind\]"):
        ROAD.wanted(LogindConfig(watch="on"))


async def test_lock_is_held_before_anything_has_happened(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock
) -> None:
    """One, for as long as the daemon runs; then it is given back."""
    async with hearing(bus.address, clock) as ears:
        await eventually(lambda: ears.inhibitor == "held")
        assert manager.asked[0][::3] == ["shutdown", "delay"]
        assert (ears.why, ears.health.facts["InhibitDelayMaxSec"]) == ("", "5")
        await manager.looked_at(3)
        assert (manager.locks(), len(manager.asked)) == (1, 1)
    await eventually(lambda: manager.locks() == 0)


async def test_shutdown_is_a_notice_until_the_limit_when_it_is_announced(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock
) -> None:
    """It is told once, under the limit of this moment, and the lock stays meanwhile."""
    manager.limit_us = 60_000_000
    async with hearing(bus.address, clock) as ears:
        await eventually(lambda: ears.inhibitor == "held")
        manager.announce(start=True)
        notice = await ears.inbox.get()
        assert (notice.id, notice.kind, notice.source) == (ID, "shutdown", "logind")
        assert notice.deadline is not None
        assert notice.deadline.left_s(clock()) == 60
        await manager.looked_at(3)
        assert (ears.heard(), manager.locks()) == ([], 1)


async def test_shutdown_has_its_deadline_when_it_is_announced_during_a_look(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock
) -> None:
    """A look alone knows of no beginning; the announcement that came before its answer does."""
    async with hearing(bus.address, clock) as ears:
        await eventually(lambda: ears.inhibitor == "held")
        manager.announces_when_asked = True
        notice = await ears.inbox.get()
        assert notice.deadline is not None
        assert notice.deadline.left_s(clock()) == 5
        await manager.looked_at(2)
        assert ears.heard() == []


async def test_lock_is_given_back_before_the_limit_when_nobody_calls_it_off(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock
) -> None:
    """After the notice, and no other is taken while the shutdown goes on."""
    manager.limit_us = 700_000
    async with hearing(bus.address, clock) as ears:
        await eventually(lambda: ears.inhibitor == "held")
        manager.announce(start=True)
        await eventually(lambda: manager.locks() == 0)
        assert ears.heard() == [False]
        assert ears.inhibitor == "released"
        await manager.looked_at(3)
        assert len(manager.asked) == 1
        manager.announce(start=False)
        await eventually(lambda: manager.locks() == 1)
        assert ears.heard() == [True]


async def test_lock_is_given_back_early_when_all_trainers_have_saved(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock, tmp_path: Path
) -> None:
    """Not while one of the two is still at it, and not for one that was saved all along."""
    manager.limit_us = 600_000_000
    run_dir = tmp_path / "run"
    say(run_dir, clock, BOOT_ID, before="saved", slow="running", fast="running")
    async with hearing(bus.address, clock, run_dir=run_dir) as ears:
        await eventually(lambda: ears.inhibitor == "held")
        manager.announce(start=True)
        await ears.inbox.get()
        await ears.looked_at_trainers(2)
        say(run_dir, clock, BOOT_ID, fast="saved", slow="stopping")
        await ears.looked_at_trainers(2)
        assert (manager.locks(), ears.inhibitor) == (1, "held")
        say(run_dir, clock, BOOT_ID, slow="saved")
        await eventually(lambda: manager.locks() == 0)
        assert ears.inhibitor == "released"


async def test_lock_is_kept_when_no_trainer_says_how_it_is(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock, tmp_path: Path
) -> None:
    """One that writes no status may be saving; a file from before says nothing of it."""
    manager.limit_us = 600_000_000
    run_dir = tmp_path / "run"
    say(run_dir, clock, BOOT_ID, before="exited")
    async with hearing(bus.address, clock, run_dir=run_dir) as ears:
        await eventually(lambda: ears.inhibitor == "held")
        manager.announce(start=True)
        await ears.inbox.get()
        await ears.looked_at_trainers(3)
        assert manager.locks() == 1


async def test_notice_is_taken_back_when_the_shutdown_is_called_off(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock
) -> None:
    """The lock was not given back, so the next shutdown is delayed as well, for all its time."""
    async with hearing(bus.address, clock) as ears:
        await eventually(lambda: ears.inhibitor == "held")
        for _ in range(2):
            manager.announce(start=True)
            await eventually(lambda: ears.inbox.qsize() >= 1)
            manager.announce(start=False)
            await eventually(lambda: ears.inbox.qsize() >= 2)
            assert ears.heard() == [False, True]
        assert (manager.locks(), len(manager.asked)) == (1, 1)


async def test_shutdown_is_heard_without_a_lock_when_it_is_refused(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """One clear line in the log; not blind; and a lock as soon as polkitd is there."""
    manager.refusal = "AccessDenied"
    async with hearing(bus.address, clock) as ears:
        await eventually(lambda: len(manager.asked) >= 3)
        assert ears.inhibitor == "refused: AccessDenied: Permission denied"
        lines = [one.message for one in caplog.records if "no inhibitor" in one.message]
        assert len(lines) == 1
        assert "polkitd" in lines[0]
        assert ears.why == ""
        manager.announce(start=True)
        notice = await ears.inbox.get()
        assert (notice.deadline, notice.detail) == (None, {"inhibitor": ears.inhibitor})
        manager.announce(start=False)
        manager.refusal = None
        await eventually(lambda: manager.locks() == 1)


async def test_signal_is_ignored_when_it_is_not_logind_that_sends_it(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock
) -> None:
    """Anybody may send a signal on a system bus, also to one program alone."""
    async with hearing(bus.address, clock) as ears:
        await eventually(lambda: ears.inhibitor == "held")
        assert ears.source._manager is not None
        ours = ears.source._manager._bus.unique_name
        await bus.shout("PrepareForShutdown", value=True, to=ours)
        await bus.shout("PrepareForShutdown", value=True)
        await manager.looked_at(2)  # its answers come after what was shouted
        assert ears.heard() == []


@pytest.mark.parametrize("is_preparing", [True, False])
async def test_notice_of_an_earlier_run_stands_only_while_logind_says_so(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock, *, is_preparing: bool
) -> None:
    """A daemon that is restarted in the middle tells nothing twice, and gets no lock."""
    manager.is_preparing = is_preparing
    async with hearing(bus.address, clock, [shutdown(clock)]) as ears:
        await eventually(lambda: ears.why == "")
        await eventually(lambda: manager.locks() == (0 if is_preparing else 1))
        assert ears.heard() == ([] if is_preparing else [True])


async def test_shutdown_is_heard_when_it_began_before_the_daemon(
    bus: PrivateBus, manager: FakeLogind, clock: TurnedClock
) -> None:
    """Without a deadline, as nobody knows since when."""
    manager.is_preparing = True
    async with hearing(bus.address, clock) as ears:
        notice = await ears.inbox.get()
        assert (notice.id, notice.deadline) == (ID, None)
        assert manager.asked == []
