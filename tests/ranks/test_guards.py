"""What guards find among real ranks: who is slow, and whose parameters are not the others'."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import Health
from trainer_hooks.waste.lineage import read_ledger

pytestmark = pytest.mark.ranks

SLOW_S = 0.03
"""What makes a rank slow, in seconds a step."""

SLOW_FROM = 30


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run that guards watch."""
    (tmp_path / "log").mkdir()
    return Tiny(
        checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log", steps=60, health=Health()
    )


def start(tiny: Tiny, tmp_path: Path, ranks: int = 3) -> Job:
    """Start the ranks."""
    return start_ranks(ranks, tiny.train, tmp_path / "out")


def sleep_on_rank_1(rank: int, step: int) -> None:
    """Hold up rank 1, and with it all the others."""
    if rank == 1 and step >= SLOW_FROM:
        time.sleep(SLOW_S)


def test_slow_rank_is_found_within_20_steps_when_all_steps_are_equally_long(
    tiny: Tiny, tmp_path: Path
) -> None:
    """It is named on rank 0 and on itself, and is on record; nobody else is accused."""
    job = start(replace(tiny, in_step=sleep_on_rank_1), tmp_path)
    assert job.wait() == [0] * 3, job.log(0)
    [attempt] = read_ledger(tiny.checkpoint_dir)
    assert [finding.guard for finding in attempt.findings] == ["straggler"], job.log(0)
    [finding] = attempt.findings
    assert SLOW_FROM < finding.step <= SLOW_FROM + 20
    assert "rank 1 by" in finding.text
    told = ["GUARD straggler" in job.log(rank) for rank in range(3)]
    assert told == [True, True, False]
    assert sum(steps.straggler_s for steps in attempt.steps) > SLOW_S
