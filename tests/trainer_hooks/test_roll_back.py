"""A roll-back: asked for where it can help, told as a notice, carried out once nothing is saved."""

from pathlib import Path

import pytest

from tests.support.saving import commit_save
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.flag import StopNotice
from trainer_hooks.roll_back import RollBack


@pytest.fixture
def roll_back() -> RollBack:
    """One that nobody has asked for yet."""
    return RollBack()


def heard(*, is_stop: bool) -> StopNotice:
    """Return a notice of the cloud's."""
    return StopNotice(id="spot", is_stop=is_stop, deadline_s=500.0, source="flag", window_s=120.0)


def test_newest_checkpoint_before_the_onset_is_left_when_it_is_carried_out(
    tmp_path: Path, roll_back: RollBack
) -> None:
    """Also of what was committed after it was asked for; others are told once."""
    told: list[bool] = []
    roll_back.on_asked = lambda: told.append(True)
    for step in (10, 20, 30):
        commit_save(tmp_path, step)
    for _ in range(2):
        roll_back.ask(tmp_path, 30, "loss")
    commit_save(tmp_path, 40)
    assert roll_back.carry_out()
    newest = latest_committed(tmp_path)
    assert newest is not None
    assert newest.step == 20
    assert told == [True]


def test_what_is_bad_is_not_resumed_from_when_the_run_dies_before_it_stops(
    tmp_path: Path, roll_back: RollBack
) -> None:
    """As soon as it is asked for: what kills a rank need not wait for all to leave together."""
    for step in (10, 20, 30):
        commit_save(tmp_path, step)
    roll_back.ask(tmp_path, 20, "digest")
    newest = latest_committed(tmp_path)
    assert newest is not None
    assert newest.step == 10


def test_log_counts_what_is_in_quarantine_since_it_was_asked_for_and_before(
    tmp_path: Path, roll_back: RollBack, caplog: pytest.LogCaptureFixture
) -> None:
    """It is what a person looks for with ``reprieve-trainer checkpoints``."""
    for step in (10, 20, 30):
        commit_save(tmp_path, step)
    roll_back.ask(tmp_path, 20, "digest")
    commit_save(tmp_path, 40)
    assert roll_back.carry_out()
    assert "ROLLBACK: 3 checkpoints are in quarantine" in caplog.text
    assert len(names_with(tmp_path, Mark.QUARANTINED)) == 3


def test_log_says_how_to_roll_back_when_the_run_has_reached_its_end_before(
    tmp_path: Path, roll_back: RollBack, caplog: pytest.LogCaptureFixture
) -> None:
    """Its last checkpoint counts, with the difference. Where none was asked for, it is quiet."""
    roll_back.come_too_late()
    assert caplog.text == ""
    commit_save(tmp_path, 10)
    roll_back.ask(tmp_path, 15, "digest")
    commit_save(tmp_path, 20)
    roll_back.come_too_late()
    assert f"reprieve-trainer checkpoints rollback {tmp_path} --before-step 15" in caplog.text
    newest = latest_committed(tmp_path)
    assert newest is not None
    assert newest.step == 20


def test_nothing_is_changed_when_no_checkpoint_is_old_enough(
    tmp_path: Path, roll_back: RollBack, caplog: pytest.LogCaptureFixture
) -> None:
    """The run goes on, and the log says so."""
    commit_save(tmp_path, 30)
    roll_back.ask(tmp_path, 30, "loss")
    assert roll_back.pending(None) is None
    assert not roll_back.carry_out()
    assert names_with(tmp_path, Mark.QUARANTINED) == set()
    assert "no checkpoint before step 30 is whole" in caplog.text


def test_run_goes_on_when_it_was_rolled_back_to_the_same_checkpoint_before(
    tmp_path: Path, roll_back: RollBack
) -> None:
    """A newer one is another chance."""
    commit_save(tmp_path, 10)
    roll_back.ask(tmp_path, 15, "loss")
    assert roll_back.carry_out()
    again = RollBack()
    again.ask(tmp_path, 19, "loss")
    assert again.pending(None) is None
    commit_save(tmp_path, 20)
    again.ask(tmp_path, 25, "loss")
    assert again.pending(None) is not None


def test_notice_is_the_clouds_when_nothing_was_asked_for(roll_back: RollBack) -> None:
    """As it was heard."""
    assert roll_back.pending(heard(is_stop=False)) == heard(is_stop=False)


@pytest.mark.parametrize(("is_stop", "deadline_s"), [(True, 500.0), (False, None)])
def test_notice_is_a_roll_back_with_the_clouds_deadline_when_both_are_in_force(
    tmp_path: Path, roll_back: RollBack, *, is_stop: bool, deadline_s: float | None
) -> None:
    """Advice has none that binds."""
    commit_save(tmp_path, 10)
    roll_back.ask(tmp_path, 15, "loss")
    notice = roll_back.pending(heard(is_stop=is_stop))
    assert notice is not None
    assert (notice.is_stop, notice.is_roll_back) == (True, True)
    assert notice.deadline_s == deadline_s
