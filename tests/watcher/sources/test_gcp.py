"""The road to Google Cloud: its settings, its proof, and what it opens."""

from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest

from tests.support.clocks import START
from tests.support.simulated_gcp import GcpSimulator
from watcher.errors import ConfigError, SourceError
from watcher.metrics import Metrics
from watcher.settings import load
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving
from watcher.sources.gcp import ROAD, opened, wanted
from watcher.sources.gcp_config import GcpConfig
from watcher.sources.gcp_metadata import GcpMetadataKeys
from watcher.sources.gcp_proof import proof
from watcher.sources.road import Site
from watcher.state import State


@pytest.fixture
async def cloud() -> AsyncIterator[GcpSimulator]:
    """A simulated VM."""
    app = make_app(GcpScenario(), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        yield GcpSimulator(url, session)


async def test_vm_proves_itself_when_its_answer_is_signed(cloud: GcpSimulator) -> None:
    """With its id."""
    evidence = await proof(GcpConfig(metadata_endpoint=cloud.url))
    assert evidence == "the header Metadata-Flavor, and the VM's id 1234567890123456789"


@pytest.mark.parametrize(
    "answer",
    [
        {"headers": {"Metadata-Flavor": "Amazon"}},
        {"headers": {"Metadata-Flavor": "google"}, "body": "1"},
        {"body": "i-0123456789abcdef0"},
        {"body": "<html>Sign in</html>"},
        {"body": ""},
        {"status": 404, "headers": {"Metadata-Flavor": "x"}},
    ],
)
async def test_nothing_is_proved_when_another_one_answers(
    cloud: GcpSimulator, answer: Mapping[str, object]
) -> None:
    """Neither a signature with nonsense nor an id without one."""
    await cloud.control("POST", "fault", {"kind": "answer", **answer})
    assert await proof(GcpConfig(metadata_endpoint=cloud.url)) is None


@pytest.mark.parametrize("kind", ["html", "redirect"])
async def test_nothing_is_proved_when_a_portal_answers(cloud: GcpSimulator, kind: str) -> None:
    """It does not know how to sign."""
    await cloud.control("POST", "fault", {"kind": kind})
    assert await proof(GcpConfig(metadata_endpoint=cloud.url)) is None


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "reset"},
        {"kind": "half_body"},
        {"kind": "answer", "status": 503, "body": "later"},
        {"kind": "answer", "status": 404, "body": "not found"},
    ],
)
async def test_proof_is_unknown_when_the_server_fails(
    cloud: GcpSimulator, fault: Mapping[str, object]
) -> None:
    """Which is no word against it."""
    await cloud.control("POST", "fault", dict(fault))
    with pytest.raises(SourceError):
        await proof(GcpConfig(metadata_endpoint=cloud.url))


async def test_proof_is_refused_when_the_server_may_not_be_asked() -> None:
    """One has to say then that it is this cloud."""
    with pytest.raises(ConfigError, match="set cloud = gcp"):
        await proof(GcpConfig(metadata="off"))


def test_metadata_is_wanted_unless_it_is_off() -> None:
    """With the kinds that it may tell of."""
    assert wanted(GcpConfig()) == {GcpMetadataKeys.name: GcpMetadataKeys.kinds}
    assert GcpMetadataKeys.name not in wanted(GcpConfig(metadata="off"))


async def test_road_opens_a_lane_for_each_key_and_one_for_the_facts() -> None:
    """All of one source, which shares its health."""
    site = Site(Metrics(), lambda: START, State())
    async with opened(GcpConfig(), site) as open_road:
        lanes = [source for source in open_road.sources if source.name == GcpMetadataKeys.name]
        assert len(lanes) == 4
        assert len({lane.health for lane in lanes}) == 1


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("127.0.0.1:1338", "http://127.0.0.1:1338"),
        ("metadata.google.internal", "http://metadata.google.internal"),
        ("http://127.0.0.1:1338", "http://127.0.0.1:1338"),
        ("[fd20:ce::254]", "http://[fd20:ce::254]"),
    ],
)
def test_endpoint_is_googles_variable_when_nothing_else_is_set(variable: str, url: str) -> None:
    """A host, as Google's libraries take it; a setting of ours wins."""
    environment = {"GCE_METADATA_HOST": variable}
    effective = load(None, environment, {})
    assert effective.config.of(GcpConfig).metadata_endpoint == url
    assert effective.origins["gcp.metadata_endpoint"] == "environment GCE_METADATA_HOST"
    ours = {**environment, "REPRIEVE_GCP_METADATA_ENDPOINT": "http://10.0.0.1"}
    assert load(None, ours, {}).config.of(GcpConfig).metadata_endpoint == "http://10.0.0.1"


@pytest.mark.parametrize("variable", ["not a host", "http://", "a/b?c", "127.0.0.1:0"])
def test_endpoint_is_refused_when_googles_variable_is_no_host(variable: str) -> None:
    """Naming the variable."""
    with pytest.raises(ConfigError, match="GCE_METADATA_HOST"):
        load(None, {"GCE_METADATA_HOST": variable}, {})


@pytest.mark.parametrize(("value", "notice_s"), [("0", 0), ("120", 120), ("30.5", 30.5)])
def test_notice_of_preemptions_is_read_when_it_is_one(value: str, notice_s: float) -> None:
    """0 is a VM without one."""
    environment = {"REPRIEVE_GCP_PREEMPTION_NOTICE_S": value}
    assert load(None, environment, {}).config.of(GcpConfig).preemption_notice_s == notice_s


@pytest.mark.parametrize("value", ["121", "-1", "long", "nan", "true"])
def test_notice_of_preemptions_is_refused_when_google_has_no_such(value: str) -> None:
    """More than can be had would lose the work."""
    with pytest.raises(ConfigError, match="at most 120"):
        load(None, {"REPRIEVE_GCP_PREEMPTION_NOTICE_S": value}, {})


def test_road_is_that_of_the_cloud() -> None:
    """By the words of the command line and the file."""
    assert (ROAD.section, ROAD.cloud, ROAD.proof) == ("gcp", "gcp", proof)
