"""Two nodes, each with its own launcher and run directory; only one of them is taken."""

import os
from pathlib import Path

import pytest

from tests.support.flags import put_flag, remove_flag
from tests.support.launching import Launch, launch, wait_until
from tests.support.ports import quiet_port
from trainer_hooks import latest_committed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TRAIN_GPT = Path(__file__).parents[2] / "examples" / "train_gpt.py"


def start(tmp_path: Path, node: int, port: int) -> Launch:
    """Start one node's launcher."""
    return launch(
        tmp_path / f"node_{node}",
        TRAIN_GPT,
        f"--checkpoint-dir={tmp_path}/checkpoints",
        f"--log-dir={tmp_path}/log",
        "--steps=40",
        "--save-every=10",
        "--batch-size=2",
        "--always-stop",
        "--min-step-s=0.1",
        ranks=1,
        options=[
            "--nnodes=2",
            f"--node-rank={node}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint=127.0.0.1:{port}",
            "--rdzv-id=two-nodes",
        ],
    )


@pytest.mark.parametrize("taken", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_both_launchers_exit_75_when_one_node_is_taken(tmp_path: Path, taken: int) -> None:
    """Whichever node is taken, the rendezvous' host or the other, both leave with 75."""
    port = quiet_port()
    run_dir = tmp_path / f"node_{taken}" / "run"
    run_dir.mkdir(parents=True)
    with start(tmp_path, 0, port) as first, start(tmp_path, 1, port) as second:
        log = tmp_path / "log" / "rank_0.jsonl"
        wait_until(lambda: log.exists() and len(log.read_text().splitlines()) > 12, "step 12")
        put_flag(run_dir)
        assert (first.wait(), second.wait()) == (75, 75), first.output + second.output
        steps = {report["results"][0]["step"] for report in (first.report, second.report)}
        assert len(steps) == 1
    remove_flag(run_dir)
    port = quiet_port()
    with start(tmp_path, 0, port) as first, start(tmp_path, 1, port) as second:
        assert (first.wait(), second.wait()) == (0, 0), first.output + second.output
    checkpoint = latest_committed(tmp_path / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == 40
    assert os.path.lexists(tmp_path / "checkpoints" / "LATEST")
