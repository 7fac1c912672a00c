"""When a checkpoint was last found good: by this run's resume, or by somebody's closer look."""

import time
from pathlib import Path

import pytest

from trainer_hooks.checkpoint.layout import Attempt, SaveName
from trainer_hooks.checkpoint.marks import Mark, put_mark
from trainer_hooks.checkpoint.verified import Verified
from trainer_hooks.untrusted import Json

ATTEMPT = Attempt(1, "5f3c")


def mark(root: Path, step: int, **body: Json) -> None:
    """Leave what a look has found."""
    put_mark(root, Mark.VERIFIED, SaveName(step, ATTEMPT), body)


def test_latest_good_look_counts_when_there_are_several(tmp_path: Path) -> None:
    """Byte for byte; a glance at the sizes is none, and damage is none."""
    mark(tmp_path, 100, at="2026-11-30T08:00:00+00:00", level="load", damage=[])
    mark(tmp_path, 200, at="2026-11-30T09:00:00+00:00", level="load", damage=[])
    mark(tmp_path, 300, at="2026-11-30T10:00:00+00:00", level="sizes", damage=[])
    mark(tmp_path, 400, at="2026-11-30T10:00:00+00:00", level="load", damage=["a file is damaged"])
    mark(tmp_path, 500, at="today", level="load", damage=[])
    verified = Verified(tmp_path)
    verified.look()
    assert verified.at == 1_796_029_200.0


def test_resume_counts_when_it_is_the_latest(tmp_path: Path) -> None:
    """It has compared every digest; an older mark does not take that back."""
    mark(tmp_path, 100, at="2026-11-30T08:00:00+00:00", level="load", damage=[])
    verified = Verified(tmp_path)
    before = time.time()
    verified.note()
    noted = verified.at
    assert noted is not None
    assert noted >= before
    verified.look()
    assert verified.at == max(noted, 1_796_025_600.0)


@pytest.mark.parametrize("is_kept_here", [True, False])
def test_nothing_is_known_when_nobody_has_looked(tmp_path: Path, *, is_kept_here: bool) -> None:
    """And a rank that keeps no ledger never knows."""
    verified = Verified(tmp_path if is_kept_here else None)
    verified.look()
    assert verified.at is None
