"""What a rank tells its launcher."""

from pathlib import Path

import pytest

from trainer_hooks.decision import Decision, Outcome, Position
from trainer_hooks.flag import ROLL_BACK, USER, StopNotice
from trainer_hooks.outcome import RunOutcome
from trainer_hooks.report import Report
from trainer_hooks.results import RESULT_DIR_VARIABLE, Cause, RankState, read_result

OUTCOME = RunOutcome(is_preempted=True, is_finished=False, step=7, committed_step=7)


def stop(*causes: str) -> Decision:
    """Return what all ranks have agreed on."""
    return Decision(outcome=Outcome.STOP, last=Position(6), causes=causes)


def notice(notice_id: str, *, is_stop: bool = True) -> StopNotice:
    """Return what is in force on this node."""
    return StopNotice(id=notice_id, is_stop=is_stop, deadline_s=None, source="flag:test")


@pytest.mark.parametrize(
    ("agreed", "own", "expected"),
    [
        (None, None, None),
        (None, notice("spot"), None),
        (stop("spot"), None, Cause.OTHER_NODE),
        (stop("spot"), notice("rebalance", is_stop=False), Cause.OTHER_NODE),
        (stop("spot"), notice("spot"), Cause.THIS_NODE),
        (stop("spot"), notice("later"), Cause.THIS_NODE),
        (stop(USER), None, Cause.JOB),
        (stop(USER), notice(USER), Cause.JOB),
        (stop("spot", USER), notice("spot"), Cause.JOB),
        (stop(f"{ROLL_BACK}7"), None, Cause.JOB),
    ],
)
def test_launcher_is_told_for_whose_sake_all_stop(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    agreed: Decision | None,
    own: StopNotice | None,
    expected: Cause | None,
) -> None:
    """It starts ranks anew only where another node goes, and nobody wants the job to end."""
    monkeypatch.setenv(RESULT_DIR_VARIABLE, str(tmp_path))
    report = Report()
    report.note_cause(agreed, own)
    report.tell(RankState.SAVED, 0, OUTCOME)
    result = read_result(tmp_path, 0)
    assert result is not None
    assert result.cause is expected
