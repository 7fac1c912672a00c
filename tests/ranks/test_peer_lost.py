"""A node that goes without a word: the launchers of the others exit 76, and not 1."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.launching import Launch, descendants, launch, wait_until
from tests.support.ports import quiet_port

pytestmark = [pytest.mark.ranks, pytest.mark.timeout(180)]

TINY_MAIN = Path(__file__).parents[1] / "support" / "tiny_main.py"


def start(tmp_path: Path, node: int, port: int, *fail_at: str) -> Launch:
    """Start one node's launcher, with one rank."""
    options = ["--nnodes=2", f"--node-rank={node}", "--rdzv-backend=c10d", "--rdzv-id=lost"]
    options += [f"--rdzv-endpoint=127.0.0.1:{port}"]
    arguments = [str(tmp_path / "checkpoints"), str(tmp_path / "log"), *fail_at]
    return launch(tmp_path / f"node_{node}", TINY_MAIN, *arguments, ranks=1, options=options)


@pytest.mark.parametrize("gone", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_launcher_exits_76_when_the_other_node_is_gone(tmp_path: Path, gone: int) -> None:
    """All its processes at once, the rendezvous' host or the other; the survivor says why."""
    (tmp_path / "log").mkdir()
    port = quiet_port()
    with start(tmp_path, 0, port) as first, start(tmp_path, 1, port) as second:
        log = tmp_path / "log" / "rank_0.jsonl"
        wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, "step 3")
        taken, left = (first, second) if gone == 0 else (second, first)
        for pid in [*descendants(taken.process.pid), taken.process.pid]:
            os.kill(pid, signal.SIGKILL)
        assert left.wait(90) == 76, left.output


def test_launcher_exits_with_its_own_code_when_its_rank_has_crashed(tmp_path: Path) -> None:
    """The node with the bug says 1, which is counted; the one that lost it says 76."""
    (tmp_path / "log").mkdir()
    port = quiet_port()
    with start(tmp_path, 0, port, "5") as first, start(tmp_path, 1, port, "5") as second:
        codes = [running.wait(90) for running in (first, second)]
        ranks = [running.report["results"][0]["rank"] for running in (first, second)]
    assert dict(zip(ranks, codes, strict=True)) == {0: 76, 1: 1}, first.output + second.output
