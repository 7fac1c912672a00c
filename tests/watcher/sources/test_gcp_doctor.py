"""What the doctor says of Google Cloud: a metadata server in every sad way, and two APIs."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from tests.support.scripted_google import TOKEN, ScriptedGoogle
from tests.support.watcher_process import control
from watcher.finding import Finding, Verdict
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving
from watcher.sources.gcp_compute import RIGHTS
from watcher.sources.gcp_config import GcpConfig
from watcher.sources.gcp_doctor import checks, examine, judged
from watcher.sources.gcp_keys import HIDDEN
from watcher.sources.gcp_session import FORBIDDEN, NOT_GOOGLE, UNREACHABLE
from watcher.sources.road import Patient

PREEMPTED = {"path_prefix": "/computeMetadata/v1/instance/preempted"}
NAME = "projects/my-proj/subscriptions/node-1"
INSTANCE = "/compute/v1/projects/my-proj/zones/europe-west1-b/instances/node-1"


@asynccontextmanager
async def cloud(*faults: Mapping[str, object], ahead_s: float = 0) -> AsyncIterator[str]:
    """Run a simulated Compute Engine with these faults."""
    app = make_app(GcpScenario(cloud_ahead_s=ahead_s), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        for fault in faults:
            await control(url, "fault", **fault)
        yield url


async def diagnosed(url: str) -> dict[str, Finding]:
    """Return the findings by what was checked; the server by one word."""
    config = GcpConfig(metadata_endpoint=url, metadata_limit_s=0.5)
    return {one.checked.partition(" at ")[0]: one for one in judged(await examine(config))}


def wrongs(findings: Mapping[str, Finding]) -> dict[str, str]:
    """Return what has to be done, by check."""
    return {
        name: one.todo
        for name, one in findings.items()
        if one.verdict is Verdict.WRONG and one.todo != "see above"
    }


async def test_everything_is_ok_when_the_vm_is_healthy() -> None:
    """And it says which VM it is."""
    async with cloud() as url:
        findings = await diagnosed(url)
    assert {one.verdict for one in findings.values()} == {Verdict.OK}
    assert findings["VM"].found == "node-1, europe-west4-b, a3-highgpu-8g, Spot or preemptible"
    assert findings["preemption notices"].found == "can be read; none is in force"


async def test_notice_is_mentioned_when_one_is_in_force() -> None:
    """Whoever asks why the job has stopped should see it here as well."""
    async with cloud() as url:
        await control(url, "preempted")
        found = (await diagnosed(url))["preemption notices"]
    assert (found.verdict, found.found) == (Verdict.OK, "can be read; one is in force")


async def test_policy_is_named_when_nothing_is_reached(unused_tcp_port: int) -> None:
    """One cause, named once."""
    findings = await diagnosed(f"http://127.0.0.1:{unused_tcp_port}")
    assert wrongs(findings) == {"metadata server": UNREACHABLE}
    assert findings["preemption notices"].todo == "see above"


@pytest.mark.parametrize(
    ("fault", "todo"),
    [({"kind": "status", "status": 403}, FORBIDDEN), ({"kind": "html"}, NOT_GOOGLE)],
)
async def test_cause_is_named_when_the_answers_are_not_googles(
    fault: Mapping[str, object], todo: str
) -> None:
    """A proxy, or a stranger at that address."""
    async with cloud(fault) as url:
        findings = await diagnosed(url)
    assert wrongs(findings) == {"metadata server's answers": todo}


async def test_hang_is_told_from_a_firewall_when_no_answer_comes() -> None:
    """It accepts connections, so nothing blocks the way."""
    async with cloud({"kind": "hang"}) as url:
        findings = await diagnosed(url)
    assert findings["metadata server"].verdict is Verdict.OK
    assert list(wrongs(findings)) == ["metadata server's answers"]


async def test_stand_in_is_named_when_only_the_preemption_key_is_hidden() -> None:
    """GKE's own metadata server has the VM's name and no such key."""
    google = {"headers": {"Metadata-Flavor": "Google"}}
    async with cloud({"kind": "answer", "status": 404, **google, **PREEMPTED}) as url:
        findings = await diagnosed(url)
    assert wrongs(findings) == {"preemption notices": HIDDEN}


async def test_clock_is_wrong_when_it_is_off() -> None:
    """By the Date of an answer; the deadline would be off by as much."""
    async with cloud(ahead_s=60) as url:
        assert "s behind Google's" in (await diagnosed(url))["clock"].found


async def of_apis(google: ScriptedGoogle, compute: str) -> dict[str, Finding]:
    """Return the findings about the APIs alone, by what was checked."""
    config = GcpConfig(
        metadata="off",
        metadata_endpoint=google.url,
        compute=compute,
        compute_endpoint=google.url,
        subscription=NAME,
        pubsub_endpoint=google.url,
    )
    return {one.checked: one for one in await checks(config, Patient())}


async def test_apis_are_ok_when_the_vm_may_ask_them(google: ScriptedGoogle) -> None:
    """And no message is taken."""
    google.play(INSTANCE, (200, {"id": "1"}))
    can = {"permissions": ["pubsub.subscriptions.consume"]}
    google.play(f"/v1/{NAME}:testIamPermissions", (200, can))
    findings = await of_apis(google, "on")
    assert findings["metadata server"].verdict is Verdict.UNKNOWN
    assert findings["Compute API"].verdict is Verdict.OK
    assert findings["right to the subscription"].verdict is Verdict.OK
    assert not google.of(f"/v1/{NAME}:pull")


async def test_right_is_named_when_the_compute_api_refuses(google: ScriptedGoogle) -> None:
    """It is wrong where it was asked for, and a pity where it was not."""
    google.play(INSTANCE, (403, {"error": {"code": 403, "status": "PERMISSION_DENIED"}}))
    found = (await of_apis(google, "on"))["Compute API"]
    assert (found.verdict, found.todo) == (Verdict.WRONG, RIGHTS)


@pytest.mark.parametrize(
    ("answer", "words"), [((200, {}), "may not pull"), ((404, {}), ":testIamPermissions: 404")]
)
async def test_right_is_named_when_the_subscription_is_not_ours(
    google: ScriptedGoogle, answer: tuple[int, object], words: str
) -> None:
    """A subscription that is there without the right, or is not there."""
    google.play(f"/v1/{NAME}:testIamPermissions", answer)
    found = (await of_apis(google, "off"))["right to the subscription"]
    assert found.verdict is Verdict.WRONG
    assert words in found.found
    assert "pubsub.subscriptions.consume" in found.todo


async def test_account_is_named_when_the_vm_has_none(google: ScriptedGoogle) -> None:
    """Then there is no token to ask with."""
    google.play(TOKEN, (404, "none"))
    assert "no service account" in (await of_apis(google, "on"))["Compute API"].found
