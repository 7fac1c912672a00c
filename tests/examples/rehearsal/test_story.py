"""The demo's story with a job that fails: the node is real, the launcher is not."""

import json
import stat
from pathlib import Path

import pytest
from rehearsal import job as job_module
from rehearsal.account import Account
from rehearsal.display import Display
from rehearsal.story import Story
from rich.console import Console

from trainer_hooks.resume_check.stage import Failed, Stage

pytestmark = pytest.mark.e2e

AS_A_RUN = """while [ "$1" != --log-dir ]; do shift; done
echo '{"step": 40, "ids": [1], "lr": 0.1, "loss": 2.5, "time": 1.0}' >> "$2/rank_0.jsonl"
case "$2" in *unbroken*) exec sleep 60;; esac
while [ ! -e "$REPRIEVE_RUN_DIR/notice.json" ]; do sleep 0.05; done"""
"""A run that is under way at once, and ends by itself when the flag has come."""


def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launcher: str) -> tuple[Account, Failed]:
    """Play the story with a shell script in the launcher's place; return how it failed."""
    path = tmp_path / "launcher"
    path.write_text(f"#!/bin/sh\n{launcher}\n", encoding="ascii")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(job_module, "_LAUNCHER", path)
    account = Account(window_s=120, steps=120)
    display = Display(Console(quiet=True), account.steps)
    with Stage(display.tick) as stage, pytest.raises(Failed) as failure:
        Story(stage, display, account, tmp_path / "out").play()
    return account, failure.value


def test_story_fails_when_a_run_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash before the notice is told with the code, and the log is that run's."""
    account, failure = play(tmp_path, monkeypatch, "echo no such module; exit 3")
    assert "ended with code 3 instead of" in str(failure)
    assert failure.log is not None
    assert failure.log.read_text(encoding="utf-8") == "no such module\n"
    assert account.timeline.issued is None


def test_story_fails_when_a_run_ends_as_if_nothing_had_been_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0 after the notice is not 75; what the watcher did is known all the same."""
    account, failure = play(tmp_path, monkeypatch, f"{AS_A_RUN}\nsleep 1")
    why = "ended with code 0 instead of 75, while its end was awaited"
    assert str(failure) == f"the interrupted run {why}"
    timeline = account.timeline
    assert timeline.issued is not None
    assert timeline.heard is not None
    assert timeline.flag_written is not None
    assert timeline.issued < timeline.heard < timeline.flag_written
    assert timeline.exited is None


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ((41, 41), "the ranks have committed (30, 30), on disk is None"),
        ((41, 42), "the ranks have stopped at different steps: (41, 42)"),
    ],
)
def test_story_fails_when_exit_code_75_is_all_that_speaks_for_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: tuple[int, int], why: str
) -> None:
    """Without a common step and a commit on disk, 75 means nothing."""
    results = [{"step": step, "committed_step": 30, "instants": {}} for step in steps]
    report = json.dumps({"results": results})
    launcher = f"report=$3; {AS_A_RUN}; echo '{report}' > \"$report\"; exit 75"
    account, failure = play(tmp_path, monkeypatch, launcher)
    assert why in str(failure)
    assert account.timeline.exit_code == 75
    assert account.timeline.committed_step is None
