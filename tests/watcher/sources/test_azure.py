"""The road of Azure: what proves it, and what is opened."""

from dataclasses import replace

import pytest

from tests.support.clocks import TurnedClock
from tests.support.scripted_imds import ScriptedImds
from tests.support.simulated_aws import TurnedClock as ScenarioClocks
from tests.support.simulated_azure import simulated_azure
from watcher.cloud import find_cloud
from watcher.config import Config
from watcher.errors import SourceError
from watcher.metrics import Metrics
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.azure.machine import VM_ID
from watcher.simulator.azure.scenario import AzureScenario
from watcher.simulator.server import make_app, serving
from watcher.sources import ROADS, aws, azure
from watcher.sources.aws_config import AwsConfig
from watcher.sources.azure_config import AzureConfig
from watcher.sources.azure_session import VM_ID_PATH
from watcher.sources.road import Site
from watcher.state import State

PATH = VM_ID_PATH.partition("?")[0]


def at(url: str) -> AzureConfig:
    """Return settings for a service at this address."""
    return AzureConfig(metadata_endpoint=url)


async def test_azure_proves_itself_when_it_says_the_machines_id() -> None:
    """Over a simulated service, where events have not been switched on."""
    scenario = AzureScenario(first_answer_s=110)
    async with simulated_azure(ScenarioClocks(), scenario) as simulated:
        assert await azure.proof(at(simulated.url)) == f"the machine's id {VM_ID}"
        assert [entry["path"] for entry in await simulated.requests()] == [PATH]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>Sign in</html>", b"TRUE", b"i-0123456789abcdef0", VM_ID[:-1].encode()),
        *(f"{VM_ID} {VM_ID}".encode(), b"\xff" * 40, b'{"vmId": "%b"}' % VM_ID.encode()),
    ],
)
async def test_stranger_proves_nothing_when_its_answer_is_no_id(
    imds: ScriptedImds, body: bytes
) -> None:
    """A status alone, or a page, is no proof."""
    imds.needs_token = False
    imds.play(PATH, imds.status(200, body))
    assert await azure.proof(at(imds.url)) is None


@pytest.mark.parametrize("status", [204, 302, 400, 401, 403, 404, 410, 429, 500, 503])
async def test_stranger_proves_nothing_when_it_refuses(imds: ScriptedImds, status: int) -> None:
    """Whatever the body is."""
    imds.needs_token = False
    imds.play(PATH, imds.status(status, VM_ID.encode()))
    with pytest.raises(SourceError):
        await azure.proof(at(imds.url))


async def test_clouds_are_told_apart_when_each_is_asked_for_both() -> None:
    """EC2 is not Azure, and Azure is not EC2."""
    roads = (aws.ROAD, azure.ROAD)
    async with (
        simulated_azure(ScenarioClocks(), AzureScenario()) as simulated,
        serving(make_app(AwsScenario(), ScenarioClocks().scenario), "127.0.0.1", 0) as ec2,
    ):
        for url, name in ((simulated.url, "azure"), (ec2, "aws")):
            config = Config(sections=(at(url), AwsConfig(metadata_endpoint=url)))
            assert (await find_cloud(config, roads)).name == name


async def test_road_hears_events_when_opened(clock: TurnedClock) -> None:
    """Its own line, two lanes of one source with one health, and two keepers for approvals."""
    assert ROADS["azure"] is azure.ROAD
    site = Site(Metrics(), clock, State())
    async with simulated_azure(ScenarioClocks(), AzureScenario()) as simulated:
        await simulated.control("POST", "event", {})
        async with azure.opened(replace(at(simulated.url), vm_name="gpu-vmss_3"), site) as opened:
            [health] = opened.healths
            events, _name = opened.sources
            notice = await anext(aiter(events.notices()))
        kinds = azure.wanted(AzureConfig())[health.source]
    assert (notice.action, notice.source) == ("Preempt", health.source)
    assert notice.kind in kinds
    assert len(opened.keepers) == 2
