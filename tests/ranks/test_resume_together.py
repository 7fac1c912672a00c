"""All ranks resume from one checkpoint, also when one of them alone cannot read the newest."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.history import steps_done
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from trainer_hooks.checkpoint import prepared
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.rank_state import RankState, read_rank_state
from trainer_hooks.errors import CheckpointError, StateError
from trainer_hooks.launch.exit_codes import EXIT_CONFIG
from trainer_hooks.state import TrainState

pytestmark = pytest.mark.ranks


def test_ranks_take_the_one_before_when_one_cannot_read_its_own_state(tmp_path: Path) -> None:
    """Told to all before the next collective: nobody waits in it for the one that failed."""
    (tmp_path / "log").mkdir()
    tiny = Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log", steps=20)
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)

    def failing(directory: Place, rank: int) -> RankState:
        if rank == 1 and "_000000020." in directory.name:
            raise CheckpointError("a stale handle")
        return read_rank_state(directory, rank)

    def train(rank: int) -> None:
        prepared.read_rank_state = failing  # type: ignore[attr-defined]  # in a forked child
        replace(tiny, steps=25, log_dir=tmp_path / "second").train(rank)

    (tmp_path / "second").mkdir()
    job = start_ranks(2, train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "rank 1: a stale handle" in job.log(0)
    assert [steps_done(tmp_path / "second", rank)[0] for rank in range(2)] == [10, 10]


def test_all_ranks_refuse_a_checkpoint_that_does_not_fit_one_of_them(tmp_path: Path) -> None:
    """Met as it is restored, after the last collective of the load: 78 on both, for one reason."""
    (tmp_path / "log").mkdir()
    tiny = Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log", steps=20)
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)

    def unfit(*_: object) -> None:
        raise StateError("its data is another")

    def train(rank: int) -> None:
        if rank == 1:
            TrainState.restore = unfit  # type: ignore[assignment]  # in a forked child
        replace(tiny, steps=25).train(rank)

    job = start_ranks(2, train, tmp_path / "out")
    assert job.wait() == [EXIT_CONFIG, EXIT_CONFIG], job.log(0) + job.log(1)
    for rank in range(2):
        assert "its data is another" in job.log(rank)
