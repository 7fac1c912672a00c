"""A checkpoint that kills every run is given up for the one before; one that does not, is not."""

from pathlib import Path

import pytest

from tests.support.saving import commit_save
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.layout import Attempt, saves
from trainer_hooks.checkpoint.marks import Mark, names_with, put_mark
from trainer_hooks.checkpoint.retention import retain
from trainer_hooks.checkpoint.tries import note_survived, to_try


class Job:
    """A job that is started again and again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.attempt = Attempt(0, "none")

    def resume(self, *, without: tuple[int, ...] = ()) -> int | None:
        """Start; return the step gone on from, passing over what cannot be loaded."""
        self.attempt = start_attempt(self.root)
        for found in to_try(self.root, self.attempt):
            if found.step not in without:
                self.path = found.path
                return found.step
        return None

    def crash(self, times: int) -> list[int | None]:
        """Start so many times and die; return the steps gone on from."""
        return [self.resume() for _ in range(times)]

    def commit(self, step: int) -> None:
        """Commit a checkpoint, as this attempt."""
        commit_save(self.root, step, self.attempt)
        note_survived(self.path, self.attempt)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job with three checkpoints."""
    job = Job(tmp_path)
    attempt = start_attempt(tmp_path)
    for step in (10, 20, 30):
        commit_save(tmp_path, step, attempt)
    return job


def test_checkpoint_before_is_taken_when_three_attempts_have_died(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    """Loudly, and once: the crashing one is in quarantine, its data stays."""
    assert job.crash(3) == [30, 30, 30]
    assert caplog.messages == []
    assert job.resume() == 20
    (line,) = [r.message for r in caplog.records if "put " in r.message]
    assert "3 attempts in a row have died after resuming from it" in line
    assert [name.step for name in names_with(job.root, Mark.QUARANTINED)] == [30]
    assert [name.step for name in saves(job.root)] == [30, 20, 10]
    job.commit(25)
    assert job.crash(3) == [25, 25, 25]


def test_checkpoint_is_kept_when_something_was_committed_in_between(job: Job) -> None:
    """The count is of attempts in a row."""
    assert job.crash(2) == [30, 30]
    assert job.resume() == 30
    job.commit(40)
    (job.root / Mark.QUARANTINED).mkdir()
    put_mark(job.root, Mark.QUARANTINED, saves(job.root)[0], {"reason": "by hand"})
    assert job.crash(3) == [30, 30, 30]
    assert job.resume() == 20


def test_checkpoint_is_kept_when_attempts_have_left_in_order(job: Job) -> None:
    """A preemption before the first commit is no crash, however often it comes."""
    for _ in range(5):
        assert job.resume() == 30
        note_survived(job.path, job.attempt)


def test_older_attempt_takes_nothing_back_when_a_newer_one_has_resumed(job: Job) -> None:
    """It leaves late, and knows nothing of how the newer one fares."""
    job.resume()
    older = job.attempt
    job.crash(2)
    note_survived(job.path, older)
    assert job.resume() == 20


def test_checkpoint_is_acquitted_when_the_one_before_kills_as_well(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    """Then the cause is elsewhere, and nothing more is given up for it."""
    assert job.crash(6) == [30, 30, 30, 20, 20, 20]
    assert job.resume() == 30
    assert "is out of quarantine again: 3 attempts in a row have died from" in caplog.text
    assert names_with(job.root, Mark.QUARANTINED) == set()
    assert job.crash(9) == [30] * 9
    job.commit(40)
    assert job.crash(4) == [40, 40, 40, 30]


def test_accusation_is_over_when_something_was_committed_since(job: Job) -> None:
    """A later checkpoint that kills is judged on its own."""
    assert job.crash(4) == [30, 30, 30, 20]
    for step in (22, 24):
        job.commit(step)
    assert job.crash(4) == [24, 24, 24, 22]
    steps = {name.step for name in names_with(job.root, Mark.QUARANTINED)}
    assert steps == {24, 30}
    job.commit(26)
    newest = latest_committed(job.root)
    assert newest is not None
    assert newest.step == 26


def test_only_checkpoint_is_tried_for_ever_when_there_is_none_before(tmp_path: Path) -> None:
    """To begin anew is not this code's to decide."""
    commit_save(tmp_path, 10)
    assert Job(tmp_path).crash(8) == [10] * 8


def test_crashes_do_not_count_when_the_checkpoint_was_not_loaded(job: Job) -> None:
    """It was damaged, and passed over; the run died of something else."""
    for _ in range(5):
        assert job.resume(without=(30,)) == 20
        note_survived(job.path, job.attempt)
    assert names_with(job.root, Mark.QUARANTINED) == set()


def test_all_are_tried_when_others_cannot_be_loaded(job: Job) -> None:
    """And before the start fails, one is tried again that was given up."""
    assert job.resume(without=(10, 20, 30)) is None
    assert job.crash(3) == [30, 30, 30]
    assert job.resume(without=(10, 20)) == 30
    assert job.crash(4) == [30] * 4


def test_checkpoint_being_loaded_is_not_deleted_when_others_push_it_out(job: Job) -> None:
    """From before it is loaded until a newer attempt has started."""
    assert job.resume() == 30
    for step in (40, 50):
        commit_save(job.root, step, job.attempt)
    retain(job.root, Keep(last=1), lambda: True)
    assert [name.step for name in saves(job.root)] == [50, 30]


@pytest.mark.parametrize("word", ["", '{"schema": 1, "tries": "many", "is_acquitted": 1}'])
def test_count_begins_anew_when_the_note_makes_no_sense(job: Job, word: str) -> None:
    """To go on matters more."""
    job.crash(3)
    (job.root / Mark.RESUMED / job.path.name).write_text(word)
    assert job.crash(4) == [30, 30, 30, 20]


def test_run_goes_on_when_nothing_can_be_noted(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    """One line says so."""
    (job.root / Mark.RESUMED).touch()
    assert job.crash(5) == [30] * 5
    assert "cannot be written" in caplog.text
