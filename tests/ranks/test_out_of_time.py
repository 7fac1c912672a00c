"""A deadline is a hard budget, whatever the training hangs in.

Nothing here measures time: what hangs, hangs far longer than the test would wait.
"""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.flags import put_flag
from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import EXIT_PREEMPTED, latest_committed
from trainer_hooks.checkpoint import manifest, saver

pytestmark = pytest.mark.ranks

FOR_EVER_S = 120.0


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run of one node."""
    (tmp_path / "log").mkdir()
    (tmp_path / "run").mkdir()
    return Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log")


def start(tiny: Tiny, tmp_path: Path) -> Job:
    """Start two ranks on the node."""

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(tmp_path / "run")
        tiny.train(rank)

    return start_ranks(2, main, tmp_path / "out")


def hang_saves_from(step: int) -> None:
    """Make saves of this step and later ones take for ever on this rank."""

    def write(directory: Path, *arguments: object) -> None:
        if int(directory.name[5:14]) >= step:
            time.sleep(FOR_EVER_S)
        manifest.write_manifest(directory, *arguments)  # type: ignore[arg-type]  # passed on

    saver.write_manifest = write  # type: ignore[attr-defined, assignment]


def test_ranks_exit_75_when_the_last_step_has_no_time_for_the_final_save(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Out of time after the last step: 75 on every rank, and the older checkpoint stands."""

    def tell(rank: int, step: int) -> None:
        if (rank, step) == (1, 11):
            put_flag(tmp_path / "run", left_s=0.0)
            time.sleep(0.3)

    run = replace(tiny, steps=12, in_step=tell, before_steps=lambda _: hang_saves_from(12))
    job = start(run, tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == 10


def test_a_deadline_counts_when_it_is_heard_after_the_stop(tiny: Tiny, tmp_path: Path) -> None:
    """SIGTERM knows no deadline; the flag that follows it does."""

    def tell(rank: int, step: int) -> None:
        if (rank, step) == (0, 12):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.5)
            put_flag(tmp_path / "run", left_s=6.0)

    run = replace(tiny, in_step=tell, before_steps=lambda _: hang_saves_from(10))
    job = start(run, tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert latest_committed(tiny.checkpoint_dir) is None


def test_ranks_leave_when_the_training_waits_for_a_save_that_hangs(
    tiny: Tiny, tmp_path: Path
) -> None:
    """The next save waits for the one in flight, and the deadline does not wait for either."""

    def tell(rank: int, step: int) -> None:
        if (rank, step) == (0, 14):  # by then the training waits to start the save after it
            threading.Timer(1.0, put_flag, [tmp_path / "run"], {"left_s": 6.0}).start()

    run = replace(
        tiny, save_every=5, in_step=tell, before_steps=lambda _: hang_saves_from(10), step_s=0.001
    )
    job = start(run, tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == 5


def test_ranks_leave_when_one_is_stuck_in_a_step(tiny: Tiny, tmp_path: Path) -> None:
    """One rank hangs, the other waits for it in a collective: both leave, with the code."""

    def hang(rank: int, step: int) -> None:
        if (rank, step) == (1, 12):
            put_flag(tmp_path / "run", left_s=6.0)
            time.sleep(FOR_EVER_S)

    job = start(replace(tiny, in_step=hang), tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert "leaving, whatever the training hangs in" in job.log(0)


def test_ranks_leave_before_they_are_killed_when_the_grace_of_a_signal_is_known(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a notice: what ``launch --window`` has said is a deadline, too."""

    def hang(rank: int, step: int) -> None:
        if (rank, step) == (1, 12):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(FOR_EVER_S)

    monkeypatch.setenv("REPRIEVE_GRACE_S", "6")
    job = start(replace(tiny, in_step=hang), tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
