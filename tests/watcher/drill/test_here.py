"""A drill by the running daemon: the real daemon, trainers that speak the contract, and the CLI."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.clocks import eventually
from tests.support.drilled_node import Node, running

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(240),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may ask for a drill"),
]


async def test_trainers_stop_and_go_on_when_root_drills_them(tmp_path: Path) -> None:
    """They see a drill, the node sees none of it, and the flag goes when they have saved."""
    async with running(tmp_path) as node:
        first = await node.trainer("a", "hears")
        await eventually((node.run_dir / "trainers" / "a.json").exists)

        async def again() -> None:
            assert await first.wait() == 75
            await eventually(lambda: not (node.run_dir / "notice.json").exists())
            await node.trainer("b", "hears", 10_000)

        starting = asyncio.create_task(again())
        kept, page = tmp_path / "drills.jsonl", tmp_path / "drill.html"
        status, printed, said = await node.drill(
            "--json", f"--history={kept}", f"--picture={page}", "--window=100"
        )
        await starting
        report: dict[str, Any] = json.loads(printed or "{}")
        assert (status, report.get("survived")) == (0, True), said + printed
        assert 0 <= report["committed_s"] <= report["ended_s"] < 100
        assert report["resumed_step"] > 10_000
        assert report["code"] is None
        assert "Drill on node-7" in await asyncio.to_thread(page.read_text)
        status, printed, _ = await node.drill("history", f"--history={kept}")
        assert (status, "node-7" in printed, "median" in printed) == (0, True, True)


@pytest.mark.slow
async def test_drill_is_lost_and_can_be_cleared_when_a_trainer_hears_nothing(
    tmp_path: Path,
) -> None:
    """It would have been cut off."""
    async with running(tmp_path) as node:
        await node.trainer("a", "deaf")
        await eventually((node.run_dir / "trainers" / "a.json").exists)
        drilling = asyncio.create_task(node.drill("--window=20", "--no-resume"))
        await eventually((node.run_dir / "notice.json").exists)
        status, printed, _ = await node.drill("clear")
        assert (status, printed) == (0, "the drill is over\n")
        await eventually(lambda: not (node.run_dir / "notice.json").exists())
        status, printed, said = await drilling
        assert status == 1, said
        assert "did not end before the node would have been gone" in printed
        status, printed, _ = await node.drill("clear")
        assert (status, printed) == (0, "there was no drill\n")


async def test_drill_says_what_is_missing_when_nobody_can_be_drilled(tmp_path: Path) -> None:
    """Exit status 78: another try comes to the same."""
    node = Node(tmp_path)
    await asyncio.to_thread(node.run_dir.mkdir)
    status, _, said = await node.drill()
    assert (status, "no trainer on this node" in said) == (78, True)
    del node.settings["REPRIEVE_DRILL_SOCKET"]
    status, _, said = await node.drill("clear")
    assert (status, "no drill.socket is set" in said) == (78, True)
