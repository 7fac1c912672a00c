"""The ready scenarios of Azure, played under a clock that the test turns."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.simulated_aws import TurnedClock
from tests.support.simulated_azure import EVENTS, HEADERS, AzureSimulator, simulated_azure
from watcher.simulator.azure.scenario import AzureScenario
from watcher.simulator.scenario_file import load_scenario

DIRECTORY = Path(__file__).parents[2] / "examples" / "scenarios"

HELD_S = 0.3
"""How long one waits that is to wait in vain; any other answer may take as long as it likes."""

Look = tuple[float, *tuple[str, ...]]
"""Second, and what is seen: the status where it is not 200, a failure's own word, or the document's
incarnation and its events in a few words each."""

PLAYS: dict[str, list[Look]] = {
    "azure-preempt": [
        (9.9, "1"),
        (10, "2", "Preempt Scheduled Mon, 30 Nov 2026 11:00:40 GMT gpu-vmss_3"),
        (39.9, "2", "Preempt Scheduled Mon, 30 Nov 2026 11:00:40 GMT gpu-vmss_3"),
        (40, "3", "Preempt Started - gpu-vmss_3"),
    ],
    "azure-slow-first-answer": [(0, "held"), (60, "held")],
    "azure-siblings": [
        (
            10,
            "3",
            "Preempt Scheduled Mon, 30 Nov 2026 11:00:40 GMT gpu-vmss_0",
            "Reboot Scheduled Mon, 30 Nov 2026 11:15:10 GMT gpu-vmss_30 gpu-vmss_33",
        ),
        (
            40,
            "6",
            "Reboot Scheduled Mon, 30 Nov 2026 11:15:10 GMT gpu-vmss_30 gpu-vmss_33",
            "Freeze Scheduled Mon, 30 Nov 2026 11:15:20 GMT gpu-vmss_0 gpu-vmss_3",
            "Preempt Scheduled Mon, 30 Nov 2026 11:01:00 GMT gpu-vmss_3",
        ),
    ],
    "azure-freeze": [
        (10, "2", "Freeze Scheduled Mon, 30 Nov 2026 11:15:10 GMT gpu-vmss_0 gpu-vmss_3"),
        (60, "3", "Freeze Started - gpu-vmss_0 gpu-vmss_3"),
        (70, "4"),
    ],
    "azure-withdrawn": [
        (10, "2", "Reboot Scheduled Mon, 30 Nov 2026 11:15:10 GMT gpu-vmss_3"),
        (40, "3"),
    ],
    "azure-failing-host": [
        (10, "2", "Redeploy Scheduled Mon, 07 Dec 2026 11:00:10 GMT gpu-vmss_3"),
        (60, "5", "Reboot Started - gpu-vmss_3"),
    ],
    "azure-every-type": [
        (
            30,
            "7",
            "Freeze Scheduled Mon, 30 Nov 2026 11:15:05 GMT gpu-vmss_3",
            "Reboot Scheduled Mon, 30 Nov 2026 11:15:10 GMT gpu-vmss_3",
            "Redeploy Scheduled Mon, 30 Nov 2026 11:10:15 GMT gpu-vmss_3",
            "Terminate Scheduled Mon, 30 Nov 2026 11:05:20 GMT gpu-vmss_3",
            "Preempt Scheduled Mon, 30 Nov 2026 11:00:55 GMT gpu-vmss_3",
            "Rebalance Scheduled Mon, 30 Nov 2026 11:15:30 GMT gpu-vmss_3",
        ),
    ],
    "azure-brownout": [
        (4.9, "1"),
        (5, "429"),
        (10, "500"),
        (12.9, "500"),
        (13, "410"),
        (13, "no JSON"),
        (13, "9"),
        (13, "ClientPayloadError"),
        (13, "2", "Preempt Scheduled None gpu-vmss_3"),
        (13, "no JSON"),  # for Python's own reader: it stumbles over the byte order mark
        (13, "2", "Preempt Scheduled Mon, 30 Nov 2026 11:00:42 GMT gpu-vmss_3"),
    ],
}


async def seen(azure: AzureSimulator, limit_s: float | None) -> list[str]:
    """Look at the document, and say in a few words what it is."""
    try:
        async with asyncio.timeout(limit_s):
            answer = await azure.ask("GET", EVENTS, HEADERS)
    except TimeoutError:
        return ["held"]
    except aiohttp.ClientError as error:
        return [type(error).__name__]
    if answer.status != 200:
        return [str(answer.status)]
    try:
        document = json.loads(answer.body)
    except ValueError:
        return ["no JSON"]
    events = document.get("Events", [])
    return [str(document["DocumentIncarnation"]), *map(told, events)]


def told(event: dict[str, Any]) -> str:
    """Say in a few words what an event is, and tell a blank time from a missing one."""
    time = event.get("NotBefore") or ("-" if "NotBefore" in event else "None")
    return " ".join([event["EventType"], event["EventStatus"], time, *event["Resources"]])


@pytest.mark.parametrize("name", PLAYS)
async def test_scenario_plays_what_it_promises(name: str) -> None:
    """Second by second, as a client sees it."""
    clock = TurnedClock()
    scenario = load_scenario(DIRECTORY / f"{name}.toml", "azure")
    assert isinstance(scenario, AzureScenario)
    async with simulated_azure(clock, scenario) as azure:
        for at_s, *expected in PLAYS[name]:
            clock.turn(at_s - clock.scenario.elapsed_s())
            limit_s = HELD_S if expected == ["held"] else None
            assert await seen(azure, limit_s) == expected, f"at {at_s} s"


def test_every_ready_scenario_is_played() -> None:
    """None is left out, and none is there only in the test."""
    assert {file.stem for file in DIRECTORY.glob("azure-*")} == PLAYS.keys()
