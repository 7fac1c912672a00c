"""A user's stop request: from anywhere, all ranks of all nodes, saved, and not started again."""

import subprocess
from pathlib import Path

import pytest

from tests.support.history import steps_done
from tests.support.launching import EXECUTABLE, Launch, launch, wait_until
from tests.support.ports import quiet_port
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import EXIT_PREEMPTED, latest_committed, request_follower
from trainer_hooks.checkpoint.stop_request import ask
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.records import Outcome
from trainer_hooks.waste.report import make_report

pytestmark = [pytest.mark.ranks, pytest.mark.timeout(180)]

LONG = """
import os, sys
from pathlib import Path
import torch.distributed as dist
from tests.support.tiny import Tiny

checkpoints, log_dir = map(Path, sys.argv[1:])
dist.init_process_group("gloo")
Tiny(checkpoint_dir=checkpoints, log_dir=log_dir, steps=10**6).train(int(os.environ["RANK"]))
"""


def test_ranks_stop_at_one_step_and_save_it_when_a_user_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rank 0 alone looks; the next start is not stopped, and nothing counts as an interruption."""
    monkeypatch.setattr(request_follower, "LOOK_EVERY_S", 0.02)
    (tmp_path / "log").mkdir()
    root = tmp_path / "checkpoints"

    def ask_at_12(rank: int, step: int) -> None:
        if (rank, step) == (1, 12):
            ask(root, 1, "enough")

    tiny = Tiny(checkpoint_dir=root, log_dir=tmp_path / "log", in_step=ask_at_12, steps=400)
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    stopped_at = {steps_done(tiny.log_dir, rank)[-1] + 1 for rank in range(2)}
    checkpoint = latest_committed(root)
    assert checkpoint is not None
    assert {checkpoint.step} == stopped_at
    assert "notice_id=user" in job.log(1)
    again = Tiny(checkpoint_dir=root, log_dir=tiny.log_dir, steps=checkpoint.step + 5)
    job = start_ranks(2, again.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    ends = [attempt.end and attempt.end.outcome for attempt in read_ledger(root)]
    assert ends == [Outcome.STOPPED, Outcome.FINISHED]
    report = make_report(root)
    assert (report.interruptions, report.history.restarts_s) == ((), ())
    [pause] = report.pauses
    assert (pause.at_step, pause.resumed_step) == (checkpoint.step, checkpoint.step)
    assert pause.paused_s == report.accounts.paused_s > 0


@pytest.mark.slow
def test_launchers_of_all_nodes_exit_75_when_a_user_asks(tmp_path: Path) -> None:
    """By the real command; none starts its rank again, though it may restart three times."""
    (tmp_path / "log").mkdir()
    script = tmp_path / "long.py"
    script.write_text(LONG)
    port = quiet_port()

    def start(node: int) -> Launch:
        options = ["--nnodes=2", f"--node-rank={node}", "--rdzv-backend=c10d", "--rdzv-id=user"]
        options += [f"--rdzv-endpoint=127.0.0.1:{port}", "--max-restarts=3"]
        arguments = [str(tmp_path / "checkpoints"), str(tmp_path / "log")]
        return launch(tmp_path / f"node_{node}", script, *arguments, ranks=1, options=options)

    with start(0) as first, start(1) as second:
        log = tmp_path / "log" / "rank_0.jsonl"
        wait_until(lambda: log.exists() and log.read_text().count("\n") > 3, "step 3")
        command = [str(EXECUTABLE), "stop", str(tmp_path / "checkpoints")]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr + first.output
        codes = [one.wait(60) for one in (first, second)]
    assert codes == [75, 75], first.output + second.output
    assert said.stdout.startswith("attempt 1 of ")
