"""The Azure source while its first question switches events on."""

import asyncio

import pytest

from tests.support.clocks import TurnedClock
from tests.support.simulated_aws import TurnedClock as ScenarioClocks
from tests.support.simulated_azure import simulated_azure
from tests.support.skipping_loop import run_skipping
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.simulator.azure.scenario import AzureScenario
from watcher.sources.azure_config import AzureConfig
from watcher.sources.azure_events import EVENTS, NAME, AzureEvents
from watcher.sources.azure_session import LIMIT_S
from watcher.sources.road import Site
from watcher.state import State
from watcher.supervise import keep_running


def test_source_is_enabled_without_an_error_when_the_first_answer_takes_110_s() -> None:
    """It "has not answered yet", and then hears; by the loop's own clock, and at its own pace."""

    async def hear() -> tuple[float, Notice, SourceHealth]:
        clock, scenario = TurnedClock(), AzureScenario(first_answer_s=110)
        async with (
            simulated_azure(ScenarioClocks(), scenario) as azure,
            HttpClient(azure.url, LIMIT_S) as events,
            HttpClient(azure.url, LIMIT_S) as rest,
        ):
            await azure.control("POST", "event", {})
            health = SourceHealth(AzureEvents.name, (EVENTS, NAME), clock(), Metrics())
            site = Site(Metrics(), clock, State())
            source = AzureEvents((events, rest), AzureConfig(), health, site)
            inbox: asyncio.Queue[Notice] = asyncio.Queue()
            hearing = [asyncio.create_task(keep_running(a, inbox, clock)) for a in source.lanes]
            await asyncio.sleep(109)
            assert health.keys[EVENTS].why == "has not answered yet"
            assert health.keys[NAME].blind_since is None
            notice = await inbox.get()
            took_s = asyncio.get_running_loop().time()
            for task in hearing:
                task.cancel()
            await asyncio.gather(*hearing, return_exceptions=True)
            return took_s, notice, health

    took_s, notice, health = run_skipping(hear)
    assert took_s == pytest.approx(110, abs=1)
    assert notice.action == "Preempt"
    assert health.blind_since() is None
    [counted] = health._metrics.fetches.collect()
    outcomes = {sample.labels["outcome"] for sample in counted.samples}
    assert outcomes == {"present"}
