"""`status` beside a real daemon in a cluster, before a notice, during it and after it."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import fake_api_server
from tests.support.clocks import eventually
from tests.support.own_node import NODE
from tests.support.watcher_process import READY, WatcherProcess, control
from watcher.simulator.aws.identity import DEFAULT_INSTANCE_ID
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e


async def _status(watcher: WatcherProcess, *options: str) -> tuple[int | None, str]:
    """Run the command as a person does."""
    listen = READY.findall(watcher.log)[-1].removeprefix("http://")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "watcher", "status", f"--listen={listen}", *options),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    return process.returncode, out.decode()


async def test_status_follows_the_notice_from_the_first_line_to_the_trainers(
    run_dir: Path,
) -> None:
    """Whose the cordon is, who holds the drain, and that nothing is left afterwards."""
    (run_dir / "trainers").mkdir()
    token = run_dir.parent / "token"
    token.write_text(ADMIN)
    async with (
        serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as cloud,
        fake_api_server() as cluster,
    ):
        provider_id = f"aws:///eu-west-1a/{DEFAULT_INSTANCE_ID}"
        cluster.cluster.add_node(NODE, provider_id=provider_id)
        cluster.cluster.add_pod("train", NODE, annotations={"reprieve.dev/trainer": "true"})
        watcher = await WatcherProcess.start(
            run_dir,
            cloud,
            REPRIEVE_KUBERNETES_URL=cluster.url,
            REPRIEVE_KUBERNETES_TOKEN_FILE=str(token),
        )
        try:
            await watcher.answers("/readyz", 200)
            code, shown = await _status(watcher)
            assert code == 0, shown
            assert shown.startswith(f"{NODE}: no notice is in force\n")
            assert f"NODE {NODE}: schedulable (" in shown
            await control(cloud, "notice", window_s=120)
            await eventually(lambda: "can't say that it has saved" in watcher.log)
            code, shown = await _status(watcher)
            assert code == 75, shown
            assert shown.startswith(f"{NODE}: a notice is in force, 1 min ")
            assert f"NODE {NODE}: cordoned by us, tainted preemption:NoSchedule (" in shown
            assert "PODS 1 to evict, of them 1 held and 0 blocked; 0 evicted" in shown
            assert re.search(r"team-a/train  held  its trainer can't say that it has saved", shown)
            assert re.search(r"flag_file +done +wrote ", shown)
            code, shown = await _status(watcher, "--json")
            assert code == 75
            assert json.loads(shown)["kubernetes"]["pods"]["held"] == 1
        finally:
            assert await watcher.end() == 0, watcher.log
    code, shown = await _status(watcher)
    assert (code, shown) == (1, "")
