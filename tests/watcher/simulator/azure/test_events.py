"""Scheduled Events as they come, start and go."""

from collections.abc import AsyncIterator

import pytest

from tests.support.simulated_aws import TurnedClock
from tests.support.simulated_azure import AzureSimulator, simulated_azure
from watcher.simulator.azure.changes import EventEnded, EventScheduled, EventSource, EventStarted
from watcher.simulator.azure.scenario import AzureScenario

SCENARIO = AzureScenario(
    changes=(
        EventScheduled(
            at_s=10,
            event_id="E-1",
            event_type="Freeze",
            resources=("gpu-vmss_0", "gpu-vmss_3"),
            not_before_s=900,
            source=EventSource.PLATFORM,
            description="the host moves the machine",
            duration_s=9,
            lasts_s=9,
        ),
        EventStarted(at_s=100, event_id="e-1"),
        EventEnded(at_s=105, event_id="E-1"),
    )
)


@pytest.fixture
async def azure(clock: TurnedClock) -> AsyncIterator[AzureSimulator]:
    """Play the scenario."""
    async with simulated_azure(clock, SCENARIO) as client:
        yield client


async def test_event_comes_starts_and_goes_when_its_time_has_come(
    clock: TurnedClock, azure: AzureSimulator
) -> None:
    """Its time is blank once it has started, and each step is another incarnation."""
    seen = []
    for at_s in (9.9, 10, 99.9, 100, 104.9, 105):
        clock.turn(at_s - (clock.monotonic_s - 500))
        document = await azure.document()
        states = [(event["EventStatus"], event["NotBefore"]) for event in document["Events"]]
        seen.append((document["DocumentIncarnation"], states))
    scheduled = ("Scheduled", "Mon, 30 Nov 2026 11:15:10 GMT")
    assert seen == [
        (1, []),
        (2, [scheduled]),
        (2, [scheduled]),
        (3, [("Started", "")]),
        (3, [("Started", "")]),
        (4, []),
    ]


async def test_event_has_every_key_when_listed(clock: TurnedClock, azure: AzureSimulator) -> None:
    """In Azure's own spelling."""
    clock.turn(10)
    assert await azure.events() == [
        {
            "EventId": "E-1",
            "EventStatus": "Scheduled",
            "EventType": "Freeze",
            "ResourceType": "VirtualMachine",
            "Resources": ["gpu-vmss_0", "gpu-vmss_3"],
            "NotBefore": "Mon, 30 Nov 2026 11:15:10 GMT",
            "Description": "the host moves the machine",
            "EventSource": "Platform",
            "DurationInSeconds": 9,
        }
    ]


async def test_event_starts_by_itself_and_ends_when_it_has_lasted(clock: TurnedClock) -> None:
    """Nobody has approved it."""
    async with simulated_azure(clock, AzureScenario()) as azure:
        await azure.control("POST", "event", {"type": "Freeze", "lasts_s": 9})
        seen = []
        for by_s in (899, 1.5, 8, 2):
            clock.turn(by_s)
            document = await azure.document()
            states = [event["EventStatus"] for event in document["Events"]]
            seen.append((document["DocumentIncarnation"], states))
    assert seen == [(2, ["Scheduled"]), (3, ["Started"]), (3, ["Started"]), (4, [])]


async def test_event_has_started_when_its_time_has_passed(clock: TurnedClock) -> None:
    """As a host that has failed: no warning at all."""
    async with simulated_azure(clock, AzureScenario()) as azure:
        await azure.control("POST", "event", {"type": "Reboot", "not_before_s": -5})
        [event] = await azure.events()
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")


@pytest.mark.parametrize(
    ("event_type", "time"),
    [
        ("Preempt", "Mon, 30 Nov 2026 11:00:30 GMT"),
        ("Terminate", "Mon, 30 Nov 2026 11:05:00 GMT"),
        ("Redeploy", "Mon, 30 Nov 2026 11:10:00 GMT"),
        ("Reboot", "Mon, 30 Nov 2026 11:15:00 GMT"),
        ("Freeze", "Mon, 30 Nov 2026 11:15:00 GMT"),
        ("Evaporate", "Mon, 30 Nov 2026 11:15:00 GMT"),
    ],
)
async def test_event_has_the_least_notice_of_its_type_when_nothing_is_said(
    clock: TurnedClock, event_type: str, time: str
) -> None:
    """Seconds are cut, and it concerns this machine alone."""
    async with simulated_azure(clock, AzureScenario(vm_name="trainer-7")) as azure:
        await azure.control("POST", "event", {"type": event_type})
        [event] = await azure.events()
    assert (event["NotBefore"], event["Resources"]) == (time, ["trainer-7"])


async def test_event_is_told_anew_when_announced_again(clock: TurnedClock) -> None:
    """One of the same id, and beside it another."""
    async with simulated_azure(clock, AzureScenario()) as azure:
        await azure.control("POST", "event", {"event_id": "E-1"})
        await azure.control("POST", "event", {"event_id": "E-2", "type": "Reboot"})
        await azure.control("POST", "event", {"event_id": "e-1", "type": "Freeze"})
        told = [(event["EventId"], event["EventType"]) for event in await azure.events()]
    assert told == [("e-1", "Freeze"), ("E-2", "Reboot")]


async def test_change_is_refused_when_there_is_no_such_event(clock: TurnedClock) -> None:
    """With the events that there are."""
    async with simulated_azure(clock, AzureScenario()) as azure:
        assert "there are: none" in await azure.refusal("event_end", b"{}")
        await azure.control("POST", "event", {"event_id": "E-1"})
        assert "there are: E-1" in await azure.refusal("event_start", b'{"event_id": "E-2"}')
        in_force = await azure.control("POST", "event_start", {"event_id": "e-1"})
        assert in_force == await azure.document()
        assert "already" in await azure.refusal("event_start", b'{"event_id": "E-1"}')
        await azure.control("POST", "event_end", {"event_id": "e-1"})
        assert await azure.events() == []
