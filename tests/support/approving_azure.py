"""A machine in Azure whose events are approved, and what has become of that."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.clocks import START
from tests.support.hearing_azure import AzureEars
from tests.support.simulated_aws import TurnedClock as ScenarioClocks
from tests.support.simulated_azure import AzureSimulator, simulated_azure
from watcher.simulator.azure.scenario import AzureScenario


@asynccontextmanager
async def azure_in_step() -> AsyncIterator[AzureSimulator]:
    """Run a machine in Azure, whose clock shows at first what the daemon's does."""
    clocks = ScenarioClocks()
    clocks.wall_s = START.wall.timestamp()
    async with simulated_azure(clocks, AzureScenario()) as client:
        yield client


async def looks(azure: AzureSimulator, times: int = 5) -> None:
    """Wait until the source has looked so many times more."""
    seen = len(await gets(azure))
    while len(await gets(azure)) < seen + times:
        pass


async def gets(azure: AzureSimulator) -> list[dict[str, object]]:
    """Return the source's looks at the document."""
    return [entry for entry in await azure.requests() if entry["method"] == "GET"]


async def posts(azure: AzureSimulator) -> list[object]:
    """Return what has become of each approval."""
    return [entry["status"] for entry in await azure.requests() if entry["method"] == "POST"]


async def posted(azure: AzureSimulator, times: int = 1) -> None:
    """Wait until so many approvals have been made and answered."""
    while sum(status is not None for status in await posts(azure)) < times:
        pass


def acknowledge_all(ears: AzureEars) -> None:
    """Let all be done about what was heard."""
    for notice in ears.heard():
        for lane in ears.source.lanes:
            lane.acknowledge(notice)
