"""The demo's verdict: survived only if everything was learnt and nothing differs."""

import pytest
from rehearsal.account import Account
from rehearsal.timeline import Timeline

from trainer_hooks.resume_check.comparison import Comparison


def account(
    *, exited: float | None = 1002.0, resumed_step: int | None = 45, difference: str | None = None
) -> Account:
    """Return the account of a run that has survived, but for what is asked for."""
    timeline = Timeline(
        issued=1000.0,
        exited=exited,
        stop_step=47,
        committed_step=45,
        resumed_step=resumed_step,
        steps_redone=2,
        exit_code=75,
    )
    comparisons = [
        Comparison(aspect="steps", count=240, difference=None),
        Comparison(aspect="losses", count=240, difference=difference),
    ]
    return Account(window_s=120, steps=120, timeline=timeline, comparisons=comparisons)


def test_job_has_survived_when_it_was_in_time_and_nothing_differs() -> None:
    """The last line has the figures that people ask for."""
    told = account()
    assert told.lost_because() is None
    assert told.last_line() == (
        "SURVIVED all ranks left 2.00 s after the notice, 2 steps were redone, "
        "and all 120 are bitwise those of an unbroken run"
    )
    assert told.to_json()["survived"] is True


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (account(difference="step 57 on rank 1: 2.5 against 2.6"), "losses differ: step 57 on"),
        (account(exited=1121.0), "leaving took 121.00 s of the 120 s there were"),
        (account(exited=None), "leaving took unknown s"),
        (account(resumed_step=30), "step 45 was committed, but the run went on from step 30"),
        (account(resumed_step=None), "step 45 was committed, but the run went on from step unkn"),
    ],
)
def test_job_is_lost_when_something_is_wrong_or_unknown(told: Account, why: str) -> None:
    """Each way to lose is named; what could not be learnt proves nothing."""
    assert (told.lost_because() or "").startswith(why)
    assert told.last_line().startswith(f"LOST {why}")
    assert told.to_json()["survived"] is False


def test_job_is_lost_when_nothing_was_compared() -> None:
    """An empty list of differences is no proof."""
    told = account()
    told.comparisons = ()
    assert told.lost_because() == "nothing was compared"


def test_verdict_is_one_line_when_the_failure_has_several() -> None:
    """Scripts read the last line."""
    told = account()
    told.failure = "the run ended with code 1,\n  while step 40 was awaited"
    assert told.last_line() == "LOST the run ended with code 1, while step 40 was awaited"


def test_account_says_unknown_when_the_demo_ended_half_way() -> None:
    """The table is whole, with no figure made up."""
    lines = list(Account(window_s=120, steps=120, failure="x").lines())
    assert sum(line.startswith("  unknown  ") for line in lines) == 12 + 3 + 1
    assert not any("equal" in line for line in lines)


def test_account_marks_a_window_when_it_would_have_been_too_short() -> None:
    """Whoever has 15 s is told that this would not have been enough."""
    lines = list(account(exited=1020.0).lines())
    assert [line for line in lines if line.endswith("TOO LATE")] == [
        "    -5.00  s to spare of  15 s  TOO LATE"
    ]
