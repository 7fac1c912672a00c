"""What the demo reads of a launch: the report of its ranks, and its log's commits."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rehearsal.report import Report, committed_at

LOG = """\
2026-11-30 05:35:56,510 trainer_hooks.checkpoint.saver committed step=15 durable_s=0.565
2026-11-30 05:35:57,100 trainer_hooks.checkpoint.saver committed step=30 durable_s=0.594
2026-11-30 05:35:57,112 trainer_hooks.checkpoint.saver committed step=30 durable_s=0.594
2026-11-30 05:35:57,868 trainer_hooks.stop notice notice_id=x source=flag:aws_imds is_stop=True
"""


def write_report(path: Path, *results: dict[str, object] | None) -> Path:
    """Write a report as the launcher does."""
    report = {"exit_code": 75, "reason": "", "results": results}
    path.write_text(json.dumps(report), encoding="utf-8")
    return path


def result(**instants: float) -> dict[str, object]:
    """Return what one rank has left."""
    return {"state": "saved", "step": 47, "committed_step": 45, "instants": instants}


def test_report_gives_the_last_ranks_instant_when_all_have_told_theirs(tmp_path: Path) -> None:
    """Something holds for all ranks from the last one's instant on."""
    path = write_report(tmp_path / "r", result(agreed=2.0, noticed=1.0), result(agreed=3.0))
    report = Report.read(path)
    assert report.last("agreed") == 3.0
    assert (report.steps, report.committed_steps) == ((47, 47), (45, 45))


def test_report_knows_no_instant_when_one_rank_has_not_told_its_own(tmp_path: Path) -> None:
    """One rank's word is not all ranks'."""
    path = write_report(tmp_path / "r", result(noticed=1.0), result())
    assert Report.read(path).last("noticed") is None
    assert Report.read(path).last("agreed") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"results": [null]}', '{"results": [{}]}'])
def test_report_is_refused_when_it_is_not_of_all_ranks(tmp_path: Path, text: str) -> None:
    """A rank that has left nothing is not passed over."""
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="is no report of all ranks"):
        Report.read(path)


def test_report_is_refused_when_it_is_not_there(tmp_path: Path) -> None:
    """A launcher that died has written none."""
    with pytest.raises(ValueError, match="No such file"):
        Report.read(tmp_path / "report.json")


def test_commit_is_dated_by_the_last_rank_when_the_log_has_all_of_them() -> None:
    """The log's times are UTC, whatever this machine's zone is."""
    expected = datetime(2026, 11, 30, 5, 35, 57, 112_000, tzinfo=UTC).timestamp()
    assert committed_at(LOG, 30, ranks=2) == expected


@pytest.mark.parametrize("step", [15, 45])
def test_commit_has_no_date_when_the_log_lacks_a_rank(step: int) -> None:
    """Unknown, rather than one rank's word for all."""
    assert committed_at(LOG, step, ranks=2) is None
