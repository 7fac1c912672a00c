"""Which checkpoints the rules keep, without a disk."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.keep import Keep, wanted
from trainer_hooks.checkpoint.latest import Checkpoint
from trainer_hooks.checkpoint.layout import Attempt, SaveName
from trainer_hooks.errors import ConfigError

START = datetime(2026, 11, 28, 22, 30, tzinfo=UTC)


def checkpoint(step: int, attempt: int = 1, *, after: timedelta = timedelta(0)) -> Checkpoint:
    """Return a checkpoint of one rank, taken some time after the start."""
    name = SaveName(step, Attempt(attempt, "aaaa"))
    marker = CommitMarker(
        name=name,
        world_size=1,
        save_every_steps=10,
        took_s=1.0,
        created=(START + after).isoformat(timespec="seconds"),
        files=(),
    )
    return Checkpoint(path=Path(str(name)), marker=marker)


def kept(found: list[Checkpoint], keep: Keep) -> list[tuple[int, int]]:
    """Return (step, attempt) of what stays, newest first."""
    names = sorted(wanted(found, keep), reverse=True)
    return [(name.step, name.attempt.number) for name in names]


def every_20_min(number: int) -> list[Checkpoint]:
    """Return a run's checkpoints, taken every 20 minutes from 22:30 on."""
    return [checkpoint(10 * i, after=timedelta(minutes=20 * i)) for i in range(number)]


def test_newest_are_kept_when_there_are_more() -> None:
    """By number: step 10^9 is later than 999,999,999 (transformers#27138 sorted strings)."""
    found = [checkpoint(step) for step in (9, 10, 999_999_999, 1_000_000_000, 1_000_000_001)]
    assert kept(found, Keep(last=2)) == [(1_000_000_001, 1), (1_000_000_000, 1)]
    assert kept(found, Keep(last=1)) == [(1_000_000_001, 1)]
    assert len(kept(found, Keep(last=9))) == 5
    assert kept([], Keep(last=1)) == []


def test_last_of_each_hour_is_kept_when_the_ladder_has_rungs() -> None:
    """Of the newest hours that have one; an hour without one uses up no rung."""
    found = every_20_min(5)  # 22:30 22:50 23:10 23:30 23:50
    found.append(checkpoint(900, after=timedelta(hours=9)))
    assert kept(found, Keep(last=1, hourly=2)) == [(900, 1), (40, 1)]
    assert kept(found, Keep(last=1, hourly=3)) == [(900, 1), (40, 1), (10, 1)]
    reasons = wanted(found, Keep(last=1, hourly=2))
    assert sorted(reasons.values()) == ["among the last 1", "hourly: 2026-11-28 23:00"]


def test_last_of_each_day_is_kept_when_the_ladder_has_rungs() -> None:
    """By UTC, whatever zone a marker is written in."""
    found = every_20_min(10)  # from number 5 on it is the next day
    assert kept(found, Keep(last=1, daily=1)) == [(90, 1)]
    assert kept(found, Keep(last=1, daily=2)) == [(90, 1), (40, 1)]
    assert found[4].marker.created == "2026-11-28T23:50:00+00:00"
    east = replace(found[4].marker, created="2026-11-29T05:20:00+05:30")
    found[4] = replace(found[4], marker=east)
    assert kept(found, Keep(last=1, daily=2)) == [(90, 1), (40, 1)]


@given(
    last=st.integers(1, 4),
    hourly=st.integers(0, 4),
    daily=st.integers(0, 3),
    minutes=st.lists(st.integers(1, 400), max_size=40),
)
def test_same_is_kept_when_deleting_at_once_or_step_by_step(
    last: int, hourly: int, daily: int, minutes: list[int]
) -> None:
    """What a later look would want is never deleted by an earlier one."""
    keep = Keep(last=last, hourly=hourly, daily=daily)
    taken = timedelta(0)
    everything = list[Checkpoint]()
    remaining = list[Checkpoint]()
    for step, between in enumerate(minutes):
        taken += timedelta(minutes=between)
        everything.append(checkpoint(step, after=taken))
        remaining.append(everything[-1])
        names = wanted(remaining, keep)
        remaining = [found for found in remaining if found.marker.name in names]
    assert set(wanted(everything, keep)) == {found.marker.name for found in remaining}


@given(
    last=st.integers(1, 3),
    saves=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), min_size=1, unique=True),
)
def test_newest_is_kept_when_attempts_have_gone_back(
    last: int, saves: list[tuple[int, int]]
) -> None:
    """The one that a resume would take, and as many as are asked for."""
    found = [checkpoint(step, attempt) for step, attempt in saves]
    names = set(kept(found, Keep(last=last)))
    assert max(saves) in names
    assert max(saves, key=lambda save: (save[1], save[0])) in names
    assert len(names) >= min(last, len(saves))


def test_stale_higher_step_takes_no_room_when_a_later_attempt_is_behind_it() -> None:
    """It neither occupies the slot for ever nor has the new ones deleted (SimpleTuner#2989)."""
    stale = checkpoint(1000, attempt=1)
    new = [checkpoint(step, attempt=2) for step in (10, 20, 30)]
    assert kept([stale, *new], Keep(last=2)) == [(1000, 1), (30, 2), (20, 2)]
    passed = [checkpoint(step, attempt=2) for step in (1000, 1010)]
    assert kept([stale, *passed], Keep(last=2)) == [(1010, 2), (1000, 2)]


def test_first_checkpoint_is_kept_when_an_older_run_went_further() -> None:
    """A fresh run never deletes its own checkpoint-10 behind a stale 1000 (unsloth-zoo#782)."""
    assert (10, 2) in kept([checkpoint(1000), checkpoint(10, attempt=2)], Keep(last=1))


@pytest.mark.parametrize(
    "numbers", [{"last": 0}, {"last": -1}, {"hourly": -1}, {"daily": -1}], ids=str
)
def test_rule_is_refused_when_it_makes_no_sense(numbers: dict[str, int]) -> None:
    """save_total_limit=0 deletes everything elsewhere (transformers#25129)."""
    with pytest.raises(ConfigError, match="at least the last checkpoint is kept"):
        Keep(**numbers)


def test_newest_rungs_are_kept_when_a_clock_has_jumped() -> None:
    """Years ahead for a while, and years back: neither holds a rung for ever, nor has none."""
    ahead = checkpoint(50, after=timedelta(days=9000))
    usual = [checkpoint(100 + i, after=timedelta(hours=i)) for i in range(3)]
    back = checkpoint(200, 2, after=timedelta(days=-9000))
    newest = checkpoint(210, 2, after=timedelta(days=-9000, hours=1))
    found = [ahead, *usual, back, newest]
    assert kept(found, Keep(last=1, hourly=3)) == [(210, 2), (200, 2), (102, 1)]
    assert kept(found, Keep(last=1, daily=2)) == [(210, 2), (102, 1)]
