"""What a trainer says for metrics and people: read where it makes sense, and never trusted."""

import json
from pathlib import Path

import pytest

from watcher.rank_figures import ranks_of
from watcher.trainer_figures import NOTHING_SAID, TrainerFigures, figures_of

GOLDEN = Path(__file__).parents[1] / "contract" / "trainer_v1.json"


def test_figures_are_read_when_the_file_is_the_golden_one() -> None:
    """Instants in seconds of Unix time, as Prometheus has them."""
    said = json.loads(GOLDEN.read_text())
    assert figures_of(said) == TrainerFigures(
        stall_s=0.25,
        commit_lag_s=8.5,
        step_s=0.5,
        save_every_steps=100,
        attempt=3,
        noticed_at=1_796_033_106.125,
        stopped_at=1_796_033_107.25,
        verified_at=1_796_031_600,
        paid_gpu_s=9600,
        productive_gpu_s=8000,
        straggler_score=said.get("straggler_score"),
        straggler_s=said.get("straggler_s"),
        ranks=ranks_of(said["ranks"]),
        grace_s=115,
        version="0.1.0",
    )


def test_figures_are_absent_when_an_older_trainer_says_none() -> None:
    """All are optional."""
    assert figures_of({"schema": 1}) == NOTHING_SAID


@pytest.mark.parametrize(
    "value", [None, True, "0.25", -1, 10**400, float("nan"), float("inf"), 1e16, [], {}]
)
def test_amount_is_not_said_when_it_makes_no_sense(value: object) -> None:
    """Nothing is refused for it, or a trainer's pod would be held for a figure."""
    assert figures_of({"stall_s": value, "attempt": value}) == NOTHING_SAID


@pytest.mark.parametrize("value", [None, 7, "", "one", "1\x1b[2J", "1" * 65, ["1"]])
def test_version_is_not_said_when_it_makes_no_sense(value: object) -> None:
    """It is shown to people."""
    assert figures_of({"version": value}) == NOTHING_SAID


@pytest.mark.parametrize(
    "value",
    [None, 7, True, "", "yesterday", "2026-11-30T10:05:06", "2026-11-30T10:05:06Z" + " " * 60],
)
def test_instant_is_not_said_when_it_makes_no_sense(value: object) -> None:
    """A time without a zone is none."""
    assert figures_of({"noticed_at": value, "verified_at": value}) == NOTHING_SAID
