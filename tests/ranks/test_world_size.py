"""Another number of ranks at each start, one global batch: the training is the same."""

from pathlib import Path

import pytest

from tests.support.accumulating import GLOBAL, Accumulating, steps_of
from tests.support.ranks import start_ranks
from trainer_hooks.checkpoint.layout import SaveName

pytestmark = [pytest.mark.ranks, pytest.mark.slow]


def train(tmp_path: Path, name: str, starts: list[tuple[int, int]], workers: int = 0) -> Path:
    """Train to each step on so many ranks, one start after the other; return the run's place."""
    log_dir = tmp_path / name / "log"
    log_dir.mkdir(parents=True)
    for ranks, until in starts:
        run = Accumulating(
            checkpoint_dir=tmp_path / name / "checkpoints",
            log_dir=log_dir,
            until=until,
            workers=workers,
        )
        job = start_ranks(ranks, run.train, tmp_path / name / f"out_{until}")
        assert job.wait() == [0] * ranks, "".join(map(job.log, range(ranks)))
    return tmp_path / name


@pytest.mark.parametrize("workers", [0, 2])
def test_training_is_the_same_when_ranks_leave_and_come_back(tmp_path: Path, workers: int) -> None:
    """4, 3, 2 and 4 ranks against 4: samples and learning rates exactly, losses but for rounding.

    Over the ends of six epochs, three ranks sharing 16 samples as 6, 5 and 5.
    """
    straight = steps_of(train(tmp_path, "straight", [(4, 22)]) / "log")
    place = train(tmp_path, "broken", [(4, 6), (3, 11), (2, 17), (4, 22)], workers)
    broken = steps_of(place / "log")
    assert list(broken) == list(straight) == list(range(22))
    for step, one in straight.items():
        assert len(one.ids) == GLOBAL
        assert broken[step].ids == one.ids
        assert broken[step].lr == one.lr
        assert broken[step].loss == pytest.approx(one.loss, rel=1e-9)
    names = [SaveName.parse(path.name) for path in (place / "checkpoints").glob("step_*")]
    assert sorted(name.step for name in names if name) == [4, 6, 8, 11, 12, 16, 17, 20, 22]
