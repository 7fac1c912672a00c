"""A guard asks for another node: from a slow rank over the watcher to the Node and exit 75."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import eventually
from tests.support.launching import launch
from tests.support.watcher_process import daemon_process
from watcher.simulator.aws.identity import DEFAULT_INSTANCE_ID
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

SLOW_MAIN = Path(__file__).parents[1] / "support" / "slow_main.py"
NODE = "node-a"
MACHINE = f"aws:///eu-west-1a/{DEFAULT_INSTANCE_ID}"


def condition_of(server: FakeApiServer) -> dict[str, str] | None:
    """Return the Node's condition of ours."""
    found = server.cluster.node(NODE)["status"]["conditions"]
    return next((one for one in found if one["type"] == "ReclaimPending"), None)


def label_of(server: FakeApiServer) -> str | None:
    """Return what HyperPod reads on the Node."""
    labels: dict[str, str] = server.cluster.node(NODE)["metadata"].get("labels", {})
    return labels.get("sagemaker.amazonaws.com/node-health-status")


async def test_node_is_marked_and_the_job_stops_when_a_guard_asks_for_another_one(
    tmp_path: Path,
) -> None:
    """The file is the rank's, the notice the watcher's, the stop all ranks', the label the end."""
    run_dir, token = tmp_path / "run", tmp_path / "token"
    for name in ("requests", "trainers"):
        (run_dir / name).mkdir(parents=True)
    (tmp_path / "log").mkdir()
    token.write_text(ADMIN)
    async with (
        fake_api_server() as server,
        serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as cloud,
    ):
        server.cluster.add_node(NODE, provider_id=MACHINE)
        async with daemon_process(
            run_dir,
            cloud,
            REPRIEVE_KUBERNETES_URL=server.url,
            REPRIEVE_KUBERNETES_TOKEN_FILE=str(token),
            REPRIEVE_TRAINER_REQUESTS_UIDS=str(os.getuid()),
            REPRIEVE_KUBERNETES_REPLACEMENT="hyperpod",
        ) as watcher:
            await watcher.answers("/readyz", 200)
            arguments = (str(tmp_path / "checkpoints"), str(tmp_path / "log"))
            with launch(tmp_path, SLOW_MAIN, *arguments) as job:
                code = await asyncio.to_thread(job.wait)
            assert code == 75, job.output
            assert "GUARD straggler" in job.output
            [request] = (run_dir / "requests").iterdir()
            assert "rank 1 by" in json.loads(request.read_text())["text"]
            flag = await watcher.shows("stop")
            assert (flag["kind"], flag["source"]) == ("node_request", "trainer_requests")
            assert flag["detail"]["reason"] == "straggler"
            await eventually(lambda: server.cluster.node(NODE)["spec"].get("unschedulable"))
            await eventually(lambda: condition_of(server))
            condition = condition_of(server)
            assert condition is not None
            assert (condition["status"], condition["reason"]) == ("True", "NodeRequest")
            await eventually(lambda: label_of(server) == "UnschedulablePendingReplacement")
            flag = await watcher.shows("stop")
            assert (flag["kind"], flag["also"]) == ("node_request", [])
