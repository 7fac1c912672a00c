"""What the doctor says of logind: one that grants, refuses, is slow of heart, or is not there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.fake_logind import FakeLogind, PrivateBus
from watcher.finding import Finding, Verdict
from watcher.sources.logind_config import LogindConfig
from watcher.sources.logind_doctor import checks
from watcher.sources.road import Patient

pytestmark = pytest.mark.e2e


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[PrivateBus]:
    """Run a bus."""
    bus = PrivateBus(tmp_path)
    await bus.start()
    yield bus
    await bus.end()


async def diagnosed(bus: PrivateBus) -> dict[str, Finding]:
    """Return the findings by what was checked."""
    config = LogindConfig(watch="on", bus_address=bus.address)
    return {one.checked: one for one in await checks(config, Patient())}


async def test_everything_is_ok_when_a_lock_is_granted(bus: PrivateBus) -> None:
    """It is given back at once: a shutdown waits for nobody because somebody has looked."""
    manager = FakeLogind()
    manager.limit_us = 20_000_000
    async with manager.serving(bus.address):
        findings = await diagnosed(bus)
        assert {one.verdict for one in findings.values()} == {Verdict.OK}
        assert findings["longest delay of a shutdown"].found == "20 s"
        assert len(manager.asked) == 1
        await eventually(lambda: manager.locks() == 0)


async def test_drop_in_is_named_when_the_delay_is_loginds_default(bus: PrivateBus) -> None:
    """Few trainers save in 5 s, and it is one file to install."""
    async with FakeLogind().serving(bus.address):
        found = (await diagnosed(bus))["longest delay of a shutdown"]
    assert "logind.conf.d/reprieve.conf" in found.found


async def test_polkit_is_named_when_no_lock_is_granted(bus: PrivateBus) -> None:
    """As logind answers a daemon that is not root where polkitd does not run."""
    manager = FakeLogind()
    manager.refusal = "AccessDenied"
    async with manager.serving(bus.address):
        found = (await diagnosed(bus))["right to hold a shutdown back"]
    assert (found.verdict, found.found) == (Verdict.WRONG, "AccessDenied: Permission denied")
    assert "polkit" in found.todo


async def test_logind_is_wrong_when_it_is_not_there(bus: PrivateBus) -> None:
    """A bus without it."""
    [found] = (await diagnosed(bus)).values()
    assert (found.checked, found.verdict) == ("logind", Verdict.WRONG)


async def test_nothing_is_asked_when_shutdowns_are_not_heard() -> None:
    """Most machines have it switched off."""
    assert await checks(LogindConfig(bus_address="unix:path=/nonexistent"), Patient()) == []
