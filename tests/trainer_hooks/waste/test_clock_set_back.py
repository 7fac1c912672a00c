"""Clocks that are set back or forth between two starts of a run."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledgers import begin, write
from tests.support.planned import planned, said
from trainer_hooks.waste.account import Kind, account, timeline
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.clock_set_back import in_sequence
from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.records import Committed, End, Outcome, Saved, Steps

HOUR_S = 3600.0


def ran(number: int, at: float, outcome: Outcome | None = None) -> Attempt:
    """Return an attempt that trains ten steps of 10 s, from 10 s after its begin on."""
    first = 10 * (number - 1)
    end = None if outcome is None else End(at=at + 120, outcome=outcome, step=first + 10)
    return Attempt(
        begin=begin(number, at, resumed_step=first),
        steps=[Steps(first=first, end=first + 10, began=at + 10, ended=at + 110)],
        saves=[Saved(step=first + 10, began=at + 110, ended=at + 111)],
        commits=[Committed(step=first + 10, at=at + 112)],
        notices=[Heard(at=at + 100, id="n")],
        end=end,
    )


@pytest.mark.parametrize("back_s", [1.0, 60.0, 3 * HOUR_S])
def test_steps_count_when_the_clock_was_set_back_after_an_end_in_order(back_s: float) -> None:
    """All of them, once, and nothing is paid twice."""
    before = ran(1, 100_000.0, Outcome.PREEMPTED)
    attempts = in_sequence([before, ran(2, before.last_at - back_s), ran(3, 200_000.0)])
    assert [attempt.moved_s for attempt in attempts] == pytest.approx([0.0, back_s, 0.0])
    assert attempts[1].begin.at == before.last_at
    accounts = account(timeline(attempts[:2]))
    assert accounts.kinds[Kind.PRODUCTIVE] == pytest.approx(2 * 8 * 100)
    assert accounts.paid == pytest.approx(8 * (120 + 112))


def test_steps_count_when_an_attempt_begins_before_the_one_before_it_did() -> None:
    """Whoever was killed left no word: but no successor begins before its predecessor."""
    attempts = in_sequence([ran(1, 100_000.0), ran(2, 100_000.0 - HOUR_S)])
    assert account(timeline(attempts)).kinds[Kind.PRODUCTIVE] == pytest.approx(2 * 8 * 100)


@pytest.mark.parametrize("outcome", [None, Outcome.FAILED])
def test_overlap_stays_when_an_attempt_was_fenced_off(outcome: Outcome | None) -> None:
    """It was there while its successor began: no clock is to blame."""
    old, new = ran(1, 1000.0, outcome), ran(2, 1050.0)
    assert in_sequence([old, new]) == [old, new]


def test_report_says_so_when_a_clock_was_set_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By how much; the run is as long as it was."""
    for number, at in ((1, 100_000.0), (2, 100_000.0 - 3 * HOUR_S)):
        one = ran(number, at, Outcome.FINISHED)
        assert one.end is not None
        write(tmp_path, [one.begin, *one.steps, *one.saves, *one.commits, *one.notices, one.end])
    assert "clocks were set back by 3.03 h between starts" in said(capsys, "report", str(tmp_path))
    report = planned(capsys, "report", str(tmp_path))
    assert report["clocks_set_back_s"] == pytest.approx(3 * HOUR_S + 120)
    assert report["ended"] - report["began"] == pytest.approx(240)
    assert read_ledger(tmp_path)[1].moved_s == pytest.approx(3 * HOUR_S + 120)


@given(
    begins=st.lists(st.floats(1e6, 2e6), min_size=1, max_size=6),
    ends=st.lists(st.none() | st.sampled_from(list(Outcome)), min_size=6, max_size=6),
)
def test_no_attempt_begins_before_its_predecessor_when_clocks_are_any(
    begins: list[float], ends: list[Outcome | None]
) -> None:
    """And each lasts as long as it has."""
    attempts = [ran(number, at, ends[number - 1]) for number, at in enumerate(begins, 1)]
    ordered = in_sequence(attempts)
    for before, after in pairwise(ordered):
        assert before.begin.at <= after.begin.at
    for one, was in zip(ordered, attempts, strict=True):
        lasted, did = one.last_at - one.begin.at, was.last_at - was.begin.at
        assert lasted == pytest.approx(did, abs=1e-6)
