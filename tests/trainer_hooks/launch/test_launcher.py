"""What a launch does without starting anything."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.flags import put_flag
from trainer_hooks.flag import FLAG_NAME, OVERDUE_S, StopNotice
from trainer_hooks.launch import arguments
from trainer_hooks.launch.in_force import said_of
from trainer_hooks.launch.launcher import launch
from trainer_hooks.launch.report import LaunchReport


class StartedError(Exception):
    """Raised in the place of torchrun."""


@pytest.fixture(autouse=True)
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Look for flags in the test's own directory, and start nothing."""

    def start(*_: object) -> None:
        raise StartedError

    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(tmp_path))
    monkeypatch.setattr(arguments.TORCHRUN, "parse_args", start)
    return tmp_path


def leave(_: LaunchReport) -> NoReturn:
    """Nobody leaves from a thread here."""
    raise AssertionError


def launched() -> LaunchReport:
    """Launch a script."""
    return launch(["train.py"], window_s=120.0, leave=leave)


def test_nothing_is_started_when_a_stop_notice_is_in_force(run_dir: Path) -> None:
    """Preempted before the beginning: 75, with the reason."""
    put_flag(run_dir, notice_id="spot")
    report = launched()
    assert report.exit_code == 75
    said = re.fullmatch(
        "nothing started: stop notice spot is in force on this node until (.*) UTC, .*: "
        r"start the same command again after that \(--when-notice=wait does\), or elsewhere now",
        report.reason,
    )
    assert said is not None
    until = datetime.fromisoformat(said[1]).replace(tzinfo=UTC)
    assert timedelta(seconds=660) < until - datetime.now(UTC) < timedelta(seconds=720 + 2)


@pytest.mark.parametrize("text", ["", "{", '{"schema": 9}'])
def test_nothing_is_started_when_the_flag_cannot_be_read(run_dir: Path, text: str) -> None:
    """Unknown is not clear."""
    (run_dir / FLAG_NAME).write_text(text)
    report = launched()
    assert report.exit_code == 75
    assert "until the watcher takes it back" in report.reason


def test_deadline_is_no_obstacle_when_no_calendar_has_its_day(run_dir: Path) -> None:
    """Anybody's date may stand in a flag; ten minutes past the last one is no crash."""
    put_flag(run_dir)
    flag = json.loads((run_dir / FLAG_NAME).read_text())
    flag |= {"deadline": "9999-12-31T23:59:59+00:00", "deadline_boottime_s": None}
    (run_dir / FLAG_NAME).write_text(json.dumps(flag))
    assert "until 10000-01-01 00:" in launched().reason


def test_signal_is_named_when_nothing_was_started_for_it() -> None:
    """Whoever has sent it knows until when."""
    told = StopNotice(id="SIGTERM", is_stop=True, deadline_s=None, source="signal")
    assert said_of(told) == "told to stop by SIGTERM"


def test_launch_starts_when_nothing_forbids_it(run_dir: Path) -> None:
    """No flag, advice, or a notice that the node has long outlived."""
    with pytest.raises(StartedError):
        launched()
    put_flag(run_dir, urgency="advisory")
    with pytest.raises(StartedError):
        launched()
    put_flag(run_dir, left_s=-OVERDUE_S - 5)
    with pytest.raises(StartedError):
        launched()
