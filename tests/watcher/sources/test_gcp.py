"""The road to Google Cloud: its settings, its proof, and what it opens."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest

from tests.support.clocks import START
from tests.support.gcp_bodies import said
from tests.support.scripted_google import ScriptedGoogle
from tests.support.simulated_gcp import GcpSimulator
from watcher.errors import ConfigError, SourceError
from watcher.metrics import Metrics
from watcher.settings import load
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving
from watcher.sources.gcp import ROAD, opened, wanted
from watcher.sources.gcp_compute import GcpCompute
from watcher.sources.gcp_config import GcpConfig
from watcher.sources.gcp_metadata import GcpMetadataKeys
from watcher.sources.gcp_proof import proof
from watcher.sources.gcp_pubsub import GcpPubsub
from watcher.sources.gcp_vm import GcpVm
from watcher.sources.road import Site
from watcher.state import State

SUBSCRIPTION = "projects/my-proj/subscriptions/node-1"


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


@pytest.mark.parametrize(
    ("config", "sources"),
    [
        (GcpConfig(), {GcpMetadataKeys, GcpCompute}),
        (GcpConfig(compute="off"), {GcpMetadataKeys}),
        (GcpConfig(metadata="off"), set()),
        (GcpConfig(metadata="off", compute="on"), {GcpCompute}),
        (GcpConfig(metadata="off", subscription=SUBSCRIPTION), {GcpPubsub}),
        (GcpConfig(subscription=SUBSCRIPTION), {GcpMetadataKeys, GcpCompute, GcpPubsub}),
        (GcpConfig(metadata_endpoint="http://127.0.0.1:1339"), {GcpMetadataKeys}),
        (
            GcpConfig(
                metadata_endpoint="http://127.0.0.1:1339", compute_endpoint="http://127.0.0.1:1"
            ),
            {GcpMetadataKeys, GcpCompute},
        ),
    ],
)
def test_sources_are_wanted_as_the_settings_say(config: GcpConfig, sources: set[Any]) -> None:
    """With the kinds that each may tell of; no token of a stand-in's goes to the real Google."""
    assert wanted(config) == {source.name: source.kinds for source in sources}


async def test_every_source_is_open_and_kept_when_it_is_wanted(google: ScriptedGoogle) -> None:
    """Pub/Sub is an edge: what it has said is kept before it is acknowledged."""
    google.play(
        "/compute/v1/projects/my-proj/zones/europe-west1-b/instances/node-1",
        (200, said("instance-spot")),
    )
    config = GcpConfig(
        metadata_endpoint=google.url,
        compute_endpoint=google.url,
        pubsub_endpoint=google.url,
        subscription=SUBSCRIPTION,
    )
    site = Site(Metrics(), lambda: START, State())
    async with opened(config, site) as open_road:
        assert {source.name for source in open_road.sources} == set(wanted(config))
        assert set(ROAD.edges) == {GcpPubsub.name}
        assert len(open_road.keepers) == 1
        (compute,) = (one for one in open_road.sources if isinstance(one, GcpCompute))
        assert await compute._look() == []
        assert compute.health.facts["preemption_notice_s"] == "120"


@pytest.mark.parametrize(("config_s", "known_s"), [(None, 120.0), (0.0, 0.0)])
async def test_notice_before_a_preemption_is_the_apis_unless_it_is_set(
    google: ScriptedGoogle, config_s: float | None, known_s: float
) -> None:
    """Where a person has said it, that counts."""
    google.play(
        "/compute/v1/projects/my-proj/zones/europe-west1-b/instances/node-1",
        (200, said("instance-spot")),
    )
    config = GcpConfig(
        metadata_endpoint=google.url, compute_endpoint=google.url, preemption_notice_s=config_s
    )
    vms: list[GcpVm] = []

    class SeenVm(GcpVm):
        def __init__(self, facts: dict[str, str], notice_s: float | None = None) -> None:
            super().__init__(facts, notice_s)
            vms.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("watcher.sources.gcp.GcpVm", SeenVm)
        async with opened(config, Site(Metrics(), lambda: START, State())) as open_road:
            (compute,) = (one for one in open_road.sources if isinstance(one, GcpCompute))
            await compute._look()
    assert [vm.notice_s for vm in vms] == [known_s]


@pytest.mark.parametrize(("compute", "is_fit"), [("auto", True), ("on", False)])
async def test_node_is_fit_without_the_compute_api_unless_it_was_asked_for(
    google: ScriptedGoogle, compute: str, *, is_fit: bool
) -> None:
    """Metrics and people see that it is blind in any case."""
    config = GcpConfig(metadata_endpoint=google.url, compute_endpoint=google.url, compute=compute)
    site = Site(Metrics(), lambda: START, State())
    async with opened(config, site) as open_road:
        (source,) = (one for one in open_road.sources if isinstance(one, GcpCompute))
        with pytest.raises(SourceError) as caught:
            await source._look()
        source.health.failed(caught.value, START)
        assert (source.health.unfit(START, 10.0) == {}) is is_fit
    up = site.metrics.registry.get_sample_value("reprieve_source_up", {"source": "gcp_compute"})
    assert up == 0


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
