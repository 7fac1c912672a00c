"""The daemon as a process under a policy of its settings: a rebalance that cordons for a time."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import eventually
from tests.support.told_by_program import Polled
from tests.support.watcher_process import NOBODY, daemon_process

pytestmark = pytest.mark.e2e

NODE = "node-a"
NOWHERE = NOBODY["REPRIEVE_AZURE_METADATA_ENDPOINT"]
DONE = "action done action=cordon"
SETTINGS = """
[policy.rebalance]
actions = ["flag_file", "cordon"]
expires_s = 1800
[command]
argv = {argv}
mode = "status"
interval_s = 0.2
kind = "rebalance"
"""


def left(server: FakeApiServer) -> dict[str, Any] | None:
    """Return what is noted on the Node."""
    annotations = server.cluster.node(NODE)["metadata"].get("annotations", {})
    text = annotations.get("reprieve.dev/state")
    return None if text is None else dict(json.loads(text))


async def test_cordon_of_advice_keeps_its_end_when_the_daemon_is_killed_and_started_again(
    tmp_path: Path,
) -> None:
    """The flag and the Node say when it was heard; taken back, the Node is free at once."""
    program, config, run_dir = Polled(tmp_path), tmp_path / "watcher.toml", tmp_path / "run"
    run_dir.mkdir()
    (tmp_path / "token").write_text(ADMIN)
    config.write_text(SETTINGS.format(argv=json.dumps(program.argv)))
    program.answers(0)
    async with fake_api_server() as server:
        server.cluster.add_node(NODE)
        options = ("--cloud=none", f"--config={config}")
        environment = {
            "REPRIEVE_KUBERNETES_URL": server.url,
            "REPRIEVE_KUBERNETES_TOKEN_FILE": str(tmp_path / "token"),
        }
        async with daemon_process(run_dir, NOWHERE, *options, **environment) as first:
            await first.shows("advisory")
            await eventually(lambda: left(server))
            noted = left(server)
            assert noted is not None
            assert server.cluster.node(NODE)["spec"]["unschedulable"] is True
            assert noted["expires_at"] is not None
            await first.end(signal.SIGKILL)
            said = first.log.count(DONE)  # its last lines may have died with it
        async with daemon_process(run_dir, NOWHERE, *options, **environment) as second:
            await eventually(lambda: second.log.count(DONE) > said)
            assert left(server) == noted
            program.answers(1)
            await eventually(lambda: left(server) is None)
            assert "unschedulable" not in server.cluster.node(NODE)["spec"]
