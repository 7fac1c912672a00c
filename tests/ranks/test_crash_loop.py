"""A job that crashes over and over without a checkpoint ends with 79, and no other does."""

from functools import partial
from pathlib import Path

import pytest

from tests.support.launching import Launch, launch, wait_until
from trainer_hooks import latest_committed

pytestmark = [pytest.mark.ranks, pytest.mark.timeout(180)]

TINY_MAIN = Path(__file__).parents[1] / "support" / "tiny_main.py"


def start(tmp_path: Path, *fail_at: str) -> Launch:
    """Start a run that saves every ten steps of thirty, and perhaps fails at one."""
    (tmp_path / "log").mkdir(exist_ok=True)
    arguments = [str(tmp_path / "checkpoints"), str(tmp_path / "log"), *fail_at]
    return launch(tmp_path / "out", TINY_MAIN, *arguments, options=["--max-crashes=2"])


def steps_logged(tmp_path: Path) -> int:
    """Return how many steps rank 0 has done in all starts."""
    log = tmp_path / "log" / "rank_0.jsonl"
    return log.read_text().count("\n") if log.exists() else 0


def has_gone_on(tmp_path: Path, before: int) -> bool:
    """Tell whether it has done one more."""
    return steps_logged(tmp_path) > before


def end(tmp_path: Path, *fail_at: str) -> tuple[int, str]:
    """Run one launch; return its code, and its reason."""
    with start(tmp_path, *fail_at) as running:
        code = running.wait()
        return code, running.report["reason"]


@pytest.mark.slow
def test_launch_exits_79_when_crash_follows_crash_without_a_commit(tmp_path: Path) -> None:
    """Both at step 5: the second one is the last. What is committed begins the row anew."""
    code, reason = end(tmp_path, "5")
    assert (code, "crash 1 of 2" in reason) == (1, True), reason
    code, reason = end(tmp_path, "5")
    assert (code, "2 crashes in a row and no new checkpoint" in reason) == (79, True), reason
    code, reason = end(tmp_path, "15")
    checkpoint = latest_committed(tmp_path / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == 10
    assert (code, "in a row" in reason) == (1, False), reason


@pytest.mark.slow
def test_launch_exits_75_however_often_it_is_preempted_without_a_commit(tmp_path: Path) -> None:
    """Three times at its first steps: that is said, and ends nothing. A crash is the first."""
    for number in (1, 2, 3):
        with start(tmp_path) as running:
            before = steps_logged(tmp_path)
            wait_until(partial(has_gone_on, tmp_path, before), "a step")
            running.process.terminate()
            assert running.wait() == 75, running.output
            reason = running.report["reason"]
        assert (f"{number} preemptions in a row" in reason) == (number > 1), reason
    code, reason = end(tmp_path, "2")
    assert (code, "crash 1 of 2" in reason) == (1, True), reason
