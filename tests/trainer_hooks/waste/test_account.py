"""Every second has one name: theory 3.6 (2026-11-30)."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledgers import begin, example
from trainer_hooks.waste.account import PAID, Kind, account, timeline
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.records import End, Outcome, Part, Saved, Spent, Steps


def test_accounts_are_those_of_a_hand_count_when_a_run_was_interrupted_twice(
    tmp_path: Path,
) -> None:
    """30 steps of 10 s, of which 11 were done twice, on 8 GPUs and then on 4."""
    accounts = account(timeline(example(tmp_path)))
    assert set(accounts.kinds) == set(PAID)
    assert accounts.kinds == pytest.approx(
        {
            Kind.PRODUCTIVE: 8 * 100 + 8 * 100 + 4 * 100,
            Kind.SAVE: 8 * 2 + 8 * 3 + 4 * 2,
            Kind.REWORK: 8 * 70 + 8 * 40,
            # 10 s to the first step, 15 s of warm-up; 52 s less 30 of waiting and 1 of leaving
            # (the end was at 1198), and 15 s; 92 s and 10 s.
            Kind.RESTART: 8 * 25 + 8 * (52 - 30 + 15) + 4 * (92 + 10),
            Kind.WAITING: 8 * 30,
            Kind.STRAGGLER: 0,
            Kind.OTHER: 8 * 1 + 4 * (2 + 6),
        }
    )
    assert accounts.paid == pytest.approx(8 * (1408 - 1000) + 4 * (1620 - 1408), abs=1e-9)
    assert accounts.goodput == pytest.approx(2000 / accounts.paid)
    parts = {part: spent for part, spent in accounts.parts.items() if spent}
    assert parts == pytest.approx(
        {
            Part.AWAY: 8 * 22 + 4 * 92,
            Part.INIT: 8 * (5 + 2) + 8 * (5 + 3) + 4 * (3 + 4),
            Part.RENDEZVOUS: 8 * 3,
            Part.LOAD: 8 * 7 + 4 * 3,
            Part.WARMUP: 8 * 15,
        }
    )


def test_straggler_is_named_when_its_steps_have_lasted() -> None:
    """Undone with the steps where they are."""
    steps = Steps(first=0, end=10, began=1000, ended=1100, straggler_s=20)
    lasted = Attempt(begin=begin(1, 1000), steps=[steps])
    assert account(timeline([lasted])).kinds[Kind.STRAGGLER] == 8 * 20
    half = Attempt(begin=begin(1, 1000), steps=[steps], kept_steps=5)
    kinds = account(timeline([half])).kinds
    assert (kinds[Kind.STRAGGLER], kinds[Kind.REWORK]) == (8 * 10, 8 * 50)
    assert kinds[Kind.PRODUCTIVE] == 8 * 40


def test_time_counts_once_when_an_attempt_outlives_its_successors_begin() -> None:
    """It was taken for dead, and fenced later."""
    old = Attempt(
        begin=begin(1, 1000), kept_steps=5, steps=[Steps(first=0, end=10, began=1000, ended=1100)]
    )
    new = Attempt(
        begin=begin(2, 1050, resumed_step=5),
        steps=[Steps(first=5, end=15, began=1060, ended=1160)],
    )
    segments = timeline([old, new])
    accounts = account(segments)
    assert accounts.paid == 8 * 160
    assert accounts.kinds[Kind.PRODUCTIVE] == pytest.approx(8 * (50 + 60))


def test_parts_share_what_is_left_when_a_record_is_cut_short() -> None:
    """Of 100 s, half of them waited, 60 lie after what the older attempt has said."""
    old = Attempt(
        begin=begin(1, 1000), kept_steps=5, steps=[Steps(first=0, end=5, began=1000, ended=1100)]
    )
    slow = Steps(first=5, end=15, began=1060, ended=1160, straggler_s=50)
    kinds = account(timeline([old, Attempt(begin=begin(2, 1050, 5), steps=[slow])])).kinds
    assert (kinds[Kind.STRAGGLER], kinds[Kind.PRODUCTIVE]) == (8 * 30, 8 * 130)


def test_nothing_is_paid_when_an_attempt_has_only_begun() -> None:
    """And no share is taken of nothing."""
    accounts = account(timeline([Attempt(begin=begin(1, 1000))]))
    assert (accounts.paid, accounts.goodput) == (0, 0)


spans = st.tuples(st.floats(0, 5000), st.floats(0, 300))


@st.composite
def runs(draw: st.DrawFn) -> list[Attempt]:
    """Attempts with records in any order, overlapping, before their begin, or missing."""
    attempts, at = [], 1e9
    for number in range(1, draw(st.integers(1, 5)) + 1):
        at += draw(st.floats(0, 4000))
        attempt = Attempt(begin=begin(number, at, gpus=draw(st.integers(1, 512))))
        for began, seconds in draw(st.lists(spans, max_size=4)):
            first = draw(st.integers(0, 50))
            end = first + draw(st.integers(1, 9))
            attempt.steps.append(
                Steps(
                    first=first,
                    end=end,
                    began=at + began,
                    ended=at + began + seconds,
                    straggler_s=draw(st.floats(0, 1)) * seconds,
                )
            )
        for began, seconds in draw(st.lists(spans, max_size=4)):
            early = at + began - 1000
            attempt.saves.append(Saved(step=3, began=early, ended=early + seconds))
            part = draw(st.sampled_from(list(Part)))
            attempt.parts.append(Spent(part=part, began=early, ended=early + seconds))
        attempt.kept_steps = draw(st.none() | st.integers(0, 60))
        if (outcome := draw(st.none() | st.sampled_from(list(Outcome)))) is not None:
            attempt.end = End(at=at + draw(st.floats(0, 6000)), outcome=outcome, step=3)
        attempts.append(attempt)
    return attempts


@given(attempts=runs())
def test_parts_make_up_what_was_paid_when_the_record_is_any(attempts: list[Attempt]) -> None:
    """To 1e-9 of it; no part is negative, and no instant has two names or none.

    A pause is at most what lies between the end that somebody wanted and the next begin.
    """
    segments = timeline(attempts)
    at, elapsed, pauses = attempts[0].begin.at, [], []
    is_paused = False
    for attempt in attempts:
        end = max(at, attempt.last_at)
        elapsed.append((end - at) * attempt.begin.gpus)
        pauses.append(is_paused * max(0.0, attempt.begin.at - at))
        at, is_paused = end, attempt.is_left_at_will
    accounts = account(segments)
    paused = [segment.gpu_s for segment in segments if segment.kind is Kind.PAUSED]
    everything = accounts.paid + math.fsum(paused)
    assert everything == pytest.approx(math.fsum(elapsed), rel=1e-9, abs=1e-3)
    assert accounts.paused_s <= math.fsum(pauses) + 1e-6
    assert math.fsum(accounts.kinds.values()) == accounts.paid
    assert all(segment.seconds > 0 for segment in segments)
    assert [s.began for s in segments[1:]] == [s.ended for s in segments[:-1]]
    restart = math.fsum(accounts.parts.values())
    assert restart == pytest.approx(accounts.kinds[Kind.RESTART], rel=1e-9)
