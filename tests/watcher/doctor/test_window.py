"""The window that applies, beside what trainers take; and the versions of both sides."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from watcher.doctor.window import Limit, compared, skew, torchrun_limit
from watcher.finding import Verdict
from watcher.trainer_figures import TrainerFigures
from watcher.trainers import Trainer, TrainerState

CLOUD = Limit("aws's notice", 120.0, "")
LOGIND = Limit("logind's delay of a shutdown", 5.0, "its drop-in")


def trainer(**figures: float | str) -> Trainer:
    """Return one that is alive, with these figures."""
    said = replace(TrainerFigures(), **figures)  # type: ignore[arg-type]  # as the test has them
    return Trainer(
        id="t-1", pod_uid="", state=TrainerState.RUNNING, heartbeat_s=1.0, step=5, figures=said
    )


def test_least_limit_is_the_window_and_all_are_named() -> None:
    """Whoever wants it longer has to know whose it is."""
    first, _ = compared([CLOUD, LOGIND], [])
    assert first.found == (
        "5 s, the least of: logind's delay of a shutdown 5 s, aws's notice 120 s"
    )


def test_nothing_is_known_when_no_limit_is() -> None:
    """As on a machine in no cloud that hears a program alone."""
    (found,) = compared([], [trainer(commit_lag_s=1.0)])
    assert found.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(("lag_s", "verdict"), [(4.0, Verdict.OK), (4.5, Verdict.WRONG)])
def test_stop_is_reckoned_from_step_and_save_when_none_was_seen(
    lag_s: float, verdict: Verdict
) -> None:
    """A step may have begun just before the notice."""
    one = trainer(step_s=0.5, stall_s=0.25, commit_lag_s=lag_s)
    _, found = compared([CLOUD, LOGIND], [one])
    assert found.verdict is verdict
    assert f"about {lag_s + 0.75:.1f} s of 5 s" in found.found
    assert ("its drop-in" in found.todo) is (verdict is Verdict.WRONG)


def test_stop_that_was_measured_counts_before_one_that_is_reckoned() -> None:
    """Its own word of when it heard, and when that was committed."""
    noticed = datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC)
    one = replace(
        trainer(commit_lag_s=900.0, noticed_at=noticed.timestamp()),
        committed_at=noticed.replace(second=18),
    )
    _, found = compared([CLOUD], [one])
    assert (found.verdict, found.found) == (
        Verdict.OK,
        "took, from the notice to the commit, 12.0 s of 120 s",
    )


def test_commit_before_the_notice_measures_nothing() -> None:
    """It belongs to no stop."""
    noticed = datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC)
    one = replace(trainer(noticed_at=noticed.timestamp()), committed_at=noticed.replace(second=1))
    _, found = compared([CLOUD], [one])
    assert found.verdict is Verdict.UNKNOWN


def test_launchers_grace_is_torchruns_when_no_trainer_says_another() -> None:
    """The shortest of all trainers counts."""
    assert torchrun_limit([]) is None
    for graces, seconds in (
        ([{}], 30),
        ([{"grace_s": 115.0}], 115),
        ([{"grace_s": 115.0}, {}], 30),
    ):
        limit = torchrun_limit([trainer(**one) for one in graces])
        assert limit is not None
        assert limit.window_s == seconds


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ("0.1.0", "0.1.4", Verdict.OK),
        ("0.1.0", "0.2.0", Verdict.WRONG),
        ("1.2.0", "1.9.0", Verdict.OK),
        ("1.2.0", "2.0.0", Verdict.WRONG),
    ],
)
def test_versions_are_wrong_when_they_promise_nothing_of_each_other(
    ours: str, theirs: str, verdict: Verdict
) -> None:
    """Semantic versioning: below 1.0 the second part counts."""
    (found,) = skew(ours, [trainer(version=theirs), trainer()])
    assert found.verdict is verdict
    assert theirs in found.found


def test_nothing_is_said_of_versions_when_no_trainer_says_one() -> None:
    """Older ones do not."""
    assert list(skew("0.1.0", [trainer()])) == []
