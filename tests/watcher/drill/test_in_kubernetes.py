"""A drill that a Node's annotation begins: fake API server, real daemon, real command."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import fake_api_server
from tests.support.drilled_node import running, until
from watcher.kube.keys import DRILL, STATE
from watcher.process import boot_id

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


async def test_trainers_stop_and_go_on_when_the_node_is_annotated(tmp_path: Path) -> None:
    """As by the socket, with the same report; and the report can be kept where there is a disk."""
    token = tmp_path / "token"
    await asyncio.to_thread(token.write_text, ADMIN)
    async with fake_api_server() as server:
        server.cluster.add_node("node-7", boot_id=await asyncio.to_thread(boot_id))
        settings = {
            "REPRIEVE_KUBERNETES_URL": server.url,
            "REPRIEVE_KUBERNETES_TOKEN_FILE": str(token),
            "REPRIEVE_KUBERNETES_DRILL": "on",
        }
        async with running(tmp_path, **settings) as node:
            first = await node.trainer("a", "hears")
            await until((node.run_dir / "trainers" / "a.json").exists)
            await until(lambda: server.watches)

            is_waiting = asyncio.Event()

            async def begin() -> None:
                await is_waiting.wait()
                at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                server.cluster.mark_node("node-7", annotations={DRILL: f"{at}/100"})
                assert await first.wait() == 75
                await until(lambda: not (node.run_dir / "notice.json").exists())
                await node.trainer("b", "hears", 10_000)

            beginning = asyncio.create_task(begin())
            status, printed, said = await node.drill("--wait", "--json", speaks=is_waiting)
            await beginning
            report: dict[str, Any] = json.loads(printed or "{}")
            assert (status, report.get("survived"), report["window_s"]) == (0, True, 100), said
            assert 0 <= report["committed_s"] <= report["ended_s"] < 100
            assert report["resumed_step"] > 10_000
            kept, page = tmp_path / "drills.jsonl", tmp_path / "drill.html"
            status, _, said = await node.drill(
                "keep", f"--history={kept}", f"--picture={page}", given=printed
            )
            assert (status, said) == (0, "")
            (line,) = (await asyncio.to_thread(kept.read_text)).splitlines()
            assert json.loads(line) == report
            assert "Drill on node-7" in await asyncio.to_thread(page.read_text)
        meta, spec = (server.cluster.node("node-7")[part] for part in ("metadata", "spec"))
        assert STATE not in meta["annotations"]
        assert not spec.get("unschedulable")
        assert not spec.get("taints")
