"""The demo's job: how far it has come, and what it is started with."""

from pathlib import Path

import pytest
from rehearsal.job import Job

from trainer_hooks.resume_check.stage import Failed, Stage

RECORD = '{"step": %d, "ids": [1, 2], "lr": 0.1, "loss": 2.5, "time": 1.0}\n'


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job that was never launched."""
    return Job(Stage(lambda: None), tmp_path / "interrupted", steps=120)


def write_steps(tmp_path: Path, text: str) -> None:
    """Be rank 0."""
    (tmp_path / "interrupted" / "steps" / "rank_0.jsonl").write_text(text, encoding="ascii")


def test_job_has_done_nothing_when_it_has_logged_no_step(job: Job) -> None:
    """Before the first step there is no log."""
    assert job.steps_done() == 0


def test_job_counts_whole_records_when_one_is_being_written(tmp_path: Path, job: Job) -> None:
    """A line without its end is not a step yet, be it the very first one."""
    write_steps(tmp_path, (RECORD % 0)[:20])
    assert job.steps_done() == 0
    write_steps(tmp_path, "".join(RECORD % step for step in range(100)) + (RECORD % 100)[:20])
    assert job.steps_done() == 100


def test_job_falls_back_when_steps_are_redone(tmp_path: Path, job: Job) -> None:
    """The display shows where the run is, not how far it had been."""
    write_steps(tmp_path, "".join(RECORD % step for step in (*range(48), 45)))
    assert job.steps_done() == 46


def test_job_fails_when_it_has_left_no_report(job: Job) -> None:
    """A launcher that died tells nothing, and that is not passed over."""
    with pytest.raises(Failed, match="is no report of all ranks"):
        job.report()


def test_job_fails_when_a_record_is_torn(tmp_path: Path, job: Job) -> None:
    """Nothing is concluded from a log that cannot be read."""
    write_steps(tmp_path, RECORD % 0 + (RECORD % 1)[:20] + "\n")
    with pytest.raises(Failed, match=r"rank_0.jsonl:2 is no record of a step"):
        job.doings()


def test_job_has_no_checkpoint_when_nothing_was_committed(job: Job) -> None:
    """No directory, no checkpoint."""
    assert job.newest_checkpoint() is None
