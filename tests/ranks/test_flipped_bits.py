"""One bit of a checkpoint is wrong: all ranks say where, and take the one before together."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.flipping import flip_bit
from tests.support.history import history, steps_done
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.layout import MARKER, saves

pytestmark = pytest.mark.ranks

CLASSES = {
    "shard": "__1_0.distcp",
    "index": ".metadata",
    "state file": "state/rank_00001.json",
    "manifest": "manifest/rank_00001.json",
    "marker": MARKER,
}
"""One file of each class of bytes; the second rank's, where each has one."""

EVERY = 4


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 9))]
)
def test_ranks_go_on_from_the_last_whole_one_when_a_bit_of_each_class_has_flipped(
    tmp_path: Path, seed: int
) -> None:
    """Five in a row are damaged, one class each, at a bit drawn anew; the sixth is taken."""
    (tmp_path / "log").mkdir()
    run = Tiny(
        checkpoint_dir=tmp_path / "checkpoints",
        log_dir=tmp_path / "log",
        steps=(len(CLASSES) + 1) * EVERY,
        save_every=EVERY,
    )
    job = start_ranks(2, run.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    draw = random.Random(seed)  # noqa: S311 - to be drawn again
    newest_first = [run.checkpoint_dir / str(name) for name in saves(run.checkpoint_dir)]
    for directory, name in zip(newest_first, CLASSES.values(), strict=False):
        flip_bit(directory / name, at=draw.random(), bit=draw.randrange(8))
    job = start_ranks(2, replace(run, steps=run.steps + EVERY).train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    log = job.log(0)
    for directory, (kind, name) in zip(newest_first, CLASSES.items(), strict=False):
        [line] = [line for line in log.splitlines() if f"passed over {directory}" in line]
        assert ("marker" if kind == "marker" else name) in line, (seed, kind, line)
    assert f"RESUMED step={EVERY} " in log
    for rank in range(2):
        assert steps_done(run.log_dir, rank)[run.steps] == EVERY
        assert len(history(run.log_dir, rank)) == run.steps + EVERY  # redone bitwise, or it raises
    newest = latest_committed(run.checkpoint_dir)
    assert newest is not None
    assert newest.step == run.steps + EVERY
