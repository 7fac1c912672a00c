"""What the doctor says of Azure's metadata service, played by the simulator in every sad way."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from tests.support.watcher_process import control
from watcher.finding import Finding, Verdict
from watcher.simulator.azure.scenario import AzureScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving
from watcher.sources.azure_config import AzureConfig
from watcher.sources.azure_doctor import examine, judged
from watcher.sources.azure_session import BLOCKED, NOT_AZURE

EVENTS = {"path_prefix": "/metadata/scheduledevents"}


@asynccontextmanager
async def cloud(*faults: Mapping[str, object], ahead_s: float = 0) -> AsyncIterator[str]:
    """Run a simulated Azure with these faults."""
    app = make_app(AzureScenario(vm_name="gpu-7", cloud_ahead_s=ahead_s), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        for fault in faults:
            await control(url, "fault", **fault)
        yield url


async def diagnosed(url: str, vm_name: str | None = None) -> dict[str, Finding]:
    """Return the findings by what was checked; the service by one word."""
    config = AzureConfig(metadata_endpoint=url, vm_name=vm_name)
    findings = judged(await examine(config, limit_s=0.5))
    return {one.checked.partition(" at ")[0]: one for one in findings}


def wrongs(findings: Mapping[str, Finding]) -> dict[str, str]:
    """Return what has to be done, by check."""
    return {
        name: one.todo
        for name, one in findings.items()
        if one.verdict is Verdict.WRONG and one.todo != "see above"
    }


async def test_everything_is_ok_when_the_machine_is_healthy() -> None:
    """And it says which machine it is."""
    async with cloud() as url:
        findings = await diagnosed(url)
    assert {one.verdict for one in findings.values()} == {Verdict.OK}
    assert findings["machine's name"].found == "gpu-7"
    assert findings["Scheduled Events"].found == "can be read; none in force"


async def test_notice_is_mentioned_when_one_is_in_force() -> None:
    """Whoever asks why the job has stopped should see it here as well."""
    async with cloud() as url:
        await control(url, "event")
        found = (await diagnosed(url))["Scheduled Events"]
    assert (found.verdict, found.found) == (Verdict.OK, "can be read; 1 of this machine in force")


async def test_firewall_is_named_when_nothing_is_reached(unused_tcp_port: int) -> None:
    """One cause, named once."""
    findings = await diagnosed(f"http://127.0.0.1:{unused_tcp_port}")
    assert wrongs(findings) == {"metadata service": BLOCKED}
    assert findings["Scheduled Events"].todo == "see above"


async def test_first_question_is_explained_when_only_events_do_not_come() -> None:
    """Azure switches them on when they are first asked for, which takes its time."""
    async with cloud({"kind": "hang", **EVENTS}) as url:
        findings = await diagnosed(url)
    assert list(wrongs(findings)) == ["Scheduled Events"]
    assert "up to two minutes" in findings["Scheduled Events"].todo


@pytest.mark.parametrize(("status", "words"), [(400, "X-Forwarded-For"), (403, "a firewall")])
async def test_proxy_is_named_when_the_service_refuses(status: int, words: str) -> None:
    """In the log's own words."""
    async with cloud({"kind": "status", "status": status}) as url:
        findings = await diagnosed(url)
    assert words in findings["machine's name"].found
    assert findings["Scheduled Events"].todo == "see above"


async def test_events_are_wrong_when_they_alone_are_refused() -> None:
    """Nothing above is, so it does not point there."""
    async with cloud({"kind": "status", "status": 500, **EVENTS}) as url:
        findings = await diagnosed(url)
    assert list(wrongs(findings)) == ["Scheduled Events"]


async def test_stranger_is_named_when_a_page_stands_in_for_the_answer() -> None:
    """A captive portal, or another service at that address."""
    async with cloud({"kind": "html"}) as url:
        findings = await diagnosed(url)
    assert wrongs(findings)["machine's name"] == NOT_AZURE


async def test_name_is_wrong_when_the_set_one_is_not_azures() -> None:
    """Events of this machine would be taken for others'."""
    async with cloud() as url:
        findings = await diagnosed(url, vm_name="gpu-8")
    assert "events of gpu-7 are ignored" in wrongs(findings)["machine's name"]


async def test_clock_is_wrong_when_it_is_off() -> None:
    """By the Date of an answer; the deadline would be off by as much."""
    async with cloud(ahead_s=60) as url:
        assert "s behind Azure's" in (await diagnosed(url))["clock"].found
