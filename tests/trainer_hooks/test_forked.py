"""Workers that surely run: one that hangs in its fork is replaced, and nothing else is noticed."""

import multiprocessing
import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.support.processes import Children
from tests.trainer_hooks.test_batches import BATCH, handing_out, loader, sampler_at
from trainer_hooks import forked
from trainer_hooks.errors import WorkerError
from trainer_hooks.forked import SurelyForking, surely

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on one core


class Hanging:
    """Lets forked children hang before their first instruction, as on a lock copied while held."""

    def __init__(self) -> None:
        self.room: Path | None = None
        os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self) -> None:
        for token in [] if self.room is None else self.room.glob("hang_*"):
            token.unlink()
            time.sleep(3600)


HANGING = Hanging()


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory in which each file ``hang_*`` makes one child hang; the parent waits briefly."""
    monkeypatch.setattr(forked, "BORN_WITHIN_S", 1.0)
    HANGING.room = tmp_path
    yield tmp_path
    HANGING.room = None


def test_worker_is_forked_again_when_it_hangs_in_its_fork(
    room: Path, caplog: pytest.LogCaptureFixture, children: Children
) -> None:
    """The first of two does: all batches come, from two workers, in their order."""
    (room / "hang_1").touch()
    with handing_out(loader(sampler_at(), num_workers=2)) as batches:
        seen = [id_ for batch in islice(batches, 15) for id_ in batch.tolist()]
        assert len(children()) == 2
    assert seen == list(islice(iter(sampler_at()), 15 * BATCH))
    assert "hung in its fork" in caplog.text
    assert children() == set()


def test_start_fails_by_name_when_no_fork_comes_to_life(room: Path, children: Children) -> None:
    """The job starts again rather than wait for ever, and no child is left."""
    for number in range(forked.TRIES):
        (room / f"hang_{number}").touch()
    with pytest.raises(WorkerError, match=r"did not come to life .* 3 times"):
        next(iter(loader_batches()))
    assert children() == set()


def loader_batches() -> Iterator[object]:
    """Start two workers."""
    with handing_out(loader(sampler_at(), num_workers=2)) as batches:
        yield next(batches)


def test_death_at_birth_is_left_to_who_waits_for_the_process() -> None:
    """It is not taken for a hang: nobody waits, and nothing is forked again."""
    context = SurelyForking()
    dying = context.Process(target=os._exit, args=(3,))
    dying.start()
    dying.join()
    assert dying.exitcode == 3


def test_context_is_replaced_only_where_it_forks() -> None:
    """A spawned worker inherits no locks."""
    assert isinstance(surely(None), SurelyForking)
    assert isinstance(surely(multiprocessing.get_context("fork")), SurelyForking)
    spawn = multiprocessing.get_context("spawn")
    assert surely(spawn) is spawn
