"""A job that sees no run directory: the watcher's word over HTTP stops all ranks at one step."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud import Node
from tests.support.history import steps_done
from tests.support.launching import launch, wait_until
from trainer_hooks import latest_committed
from trainer_hooks.notice_url import VARIABLE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

TRAIN_GPT = Path(__file__).parents[2] / "examples" / "train_gpt.py"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """A node whose run directory the job does not see."""
    options = ("--notice-listen=127.0.0.1:0",)
    with Node(directory=tmp_path / "node", options=options) as node:
        monkeypatch.setenv(
            VARIABLE, node._wait_for("watcher", r"notice served listen=(http://\S+)")
        )
        yield node


def test_ranks_stop_at_one_step_when_only_the_watchers_word_tells_them(
    node: Node, tmp_path: Path
) -> None:
    """75, committed; and the next launch starts nothing while the notice is in force."""
    job, log_dir, checkpoints = tmp_path / "job", tmp_path / "log", tmp_path / "checkpoints"
    arguments = [f"--checkpoint-dir={checkpoints}", f"--log-dir={log_dir}", "--steps=4000"]
    arguments += ["--save-every=10", "--min-step-s=0.05", "--batch-size=2", "--always-stop"]
    with launch(job, TRAIN_GPT, *arguments) as running:
        path = log_dir / "rank_0.jsonl"
        wait_until(lambda: path.exists() and 17 in steps_done(log_dir, 0), "step 17")
        node.issue_notice()
        assert running.wait() == 75, running.output
        results = running.report["results"]
    assert {result["state"] for result in results} == {"saved"}
    assert len({result["step"] for result in results}) == 1
    checkpoint = latest_committed(checkpoints)
    assert checkpoint is not None
    assert checkpoint.step == results[0]["step"]
    assert not (job / "run").exists()
    with launch(job, TRAIN_GPT, *arguments) as again:
        assert again.wait() == 75, again.output
        assert "nothing started" in again.report["reason"]
