"""All ranks stop at the same step with the same code, whatever tells them and whenever."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.support.flags import put_flag, remove_flag
from tests.support.history import history, steps_done
from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from tests.support.waiting import wait_until
from trainer_hooks import EXIT_PREEMPTED, TrainerHooks, latest_committed
from trainer_hooks.checkpoint import manifest, saver
from trainer_hooks.waste.lineage import read_ledger

pytestmark = pytest.mark.ranks


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run whose directories exist."""
    (tmp_path / "log").mkdir()
    for rank in range(2):
        nodes(tmp_path)(rank).mkdir()
    return Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log")


def nodes(tmp_path: Path) -> Callable[[int], Path]:
    """Return where rank r's node has its run directory."""
    return lambda rank: tmp_path / f"run_{rank}"


def start(tiny: Tiny, tmp_path: Path, size: int = 2, **changes: object) -> Job:
    """Start the run on ``size`` nodes of one rank each."""
    run_dir = nodes(tmp_path)

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(run_dir(rank))
        replace(tiny, **changes).train(rank)  # type: ignore[arg-type]  # fields of Tiny

    return start_ranks(size, main, tmp_path / "out")


def at_step(step: int, rank: int, act: Callable[[], object]) -> Callable[[int, int], None]:
    """Do something inside a step of one rank."""
    return lambda its_rank, its_step: act() if (its_rank, its_step) == (rank, step) else None  # type: ignore[return-value]  # nobody looks


def assert_stopped_together(tiny: Tiny, size: int = 2) -> int:
    """Return the step that all ranks stopped after."""
    last = {steps_done(tiny.log_dir, rank)[-1] for rank in range(size)}
    assert len(last) == 1
    return last.pop() + 1


def test_ranks_stop_at_one_step_when_one_node_of_two_has_a_notice(
    tiny: Tiny, tmp_path: Path
) -> None:
    """A notice that only rank 1's node knows of stops both, and is in rank 0's ledger."""
    tell = at_step(22, 1, lambda: put_flag(nodes(tmp_path)(1)))
    job = start(tiny, tmp_path, in_step=tell, steps=1000)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    stopped_at = assert_stopped_together(tiny)
    assert stopped_at >= 23
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == stopped_at
    [attempt] = read_ledger(tiny.checkpoint_dir)
    assert [notice.id for notice in attempt.notices] == ["test-notice"]


def test_ranks_stop_at_one_step_when_two_nodes_have_notices_at_once(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Two notices in the same step make one stop."""

    def both(rank: int, step: int) -> None:
        if step == 12:
            put_flag(nodes(tmp_path)(rank), notice_id=f"of-{rank}", left_s=100 + rank)

    job = start(tiny, tmp_path, in_step=both, steps=1000)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert_stopped_together(tiny)


def test_nothing_is_saved_when_the_notice_comes_during_start_up(tiny: Tiny, tmp_path: Path) -> None:
    """A notice that is there before the ranks are: exit 75, no step, no checkpoint."""
    put_flag(nodes(tmp_path)(0))
    job = start(tiny, tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert list(tiny.log_dir.iterdir()) == []
    assert latest_committed(tiny.checkpoint_dir) is None


def test_nothing_is_saved_when_the_notice_comes_before_the_first_step(
    tiny: Tiny, tmp_path: Path
) -> None:
    """A notice between the restore and the first step stops all ranks before it."""

    def tell(rank: int) -> None:
        if rank == 1:
            put_flag(nodes(tmp_path)(1))
            time.sleep(1.0)  # rank 0 waits at its first collective, or at the gate

    job = start(tiny, tmp_path, before_steps=tell)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert latest_committed(tiny.checkpoint_dir) is None


def hold_saves_until_stop(_: int) -> None:
    """Let no save of this rank end before the rank has said that it stops."""
    said = Path("/proc/self/fd/1")  # its log

    def write(*arguments: object) -> None:
        wait_until(lambda: " STOP step=" in said.read_text())
        manifest.write_manifest(*arguments)  # type: ignore[arg-type]  # passed on

    saver.write_manifest = write  # type: ignore[attr-defined, assignment]


def test_the_save_in_flight_is_committed_when_the_notice_comes_during_it(
    tiny: Tiny, tmp_path: Path
) -> None:
    """A stop between staging and commit finishes that save, and begins none: none was measured."""

    def watch(_: int, step: int, hooks: TrainerHooks) -> None:
        if step == 10:
            wait_until(lambda: hooks._run.agreement.stop is not None)

    tell = at_step(10, 0, lambda: put_flag(nodes(tmp_path)(0)))
    job = start(tiny, tmp_path, in_step=tell, before_steps=hold_saves_until_stop, watch=watch)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert "committed step=10" in job.log(0).split(" STOP step=")[1]
    remove_flag(nodes(tmp_path)(0))
    assert start(tiny, tmp_path).wait() == [0, 0]
    straight = replace(tiny, log_dir=tmp_path / "straight", checkpoint_dir=tmp_path / "other")
    straight.log_dir.mkdir()
    job = start(straight, tmp_path)
    assert job.wait() == [0, 0], job.log(0)
    for rank in range(2):
        assert steps_done(tiny.log_dir, rank).count(9) == 1  # resumed from that very save
        assert history(tiny.log_dir, rank) == history(straight.log_dir, rank)


def test_ranks_stop_at_one_step_when_one_is_in_a_long_evaluation(
    tiny: Tiny, tmp_path: Path
) -> None:
    """A rank that evaluates alone answers from its thread, and stops with the others after it."""

    def evaluate(rank: int, step: int) -> None:
        if (rank, step) == (1, 12):
            put_flag(nodes(tmp_path)(0))
            time.sleep(3.0)

    job = start(tiny, tmp_path, in_step=evaluate)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert assert_stopped_together(tiny) == 13


def test_ranks_stop_once_when_sigterm_and_flag_come_together(tiny: Tiny, tmp_path: Path) -> None:
    """The two ways to say it are one stop."""

    def both(rank: int, step: int) -> None:
        if (rank, step) == (0, 12):
            put_flag(nodes(tmp_path)(0))
            os.kill(os.getpid(), signal.SIGTERM)

    job = start(tiny, tmp_path, in_step=both, steps=1000)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert_stopped_together(tiny)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_ranks_stop_at_one_step_when_one_gets_a_signal(
    tiny: Tiny, tmp_path: Path, number: signal.Signals
) -> None:
    """A signal to one rank means the same as a notice on its node."""
    tell = at_step(12, 1, lambda: os.kill(os.getpid(), number))
    job = start(tiny, tmp_path, in_step=tell, steps=1000)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert_stopped_together(tiny)


def test_ranks_train_on_when_the_notice_is_withdrawn_in_time(tiny: Tiny, tmp_path: Path) -> None:
    """A flag that comes and goes while a rank cannot answer stops nobody."""

    def come_and_go(rank: int, step: int) -> None:
        if (rank, step) == (0, 12):
            put_flag(nodes(tmp_path)(0))
            remove_flag(nodes(tmp_path)(0))

    job = start(tiny, tmp_path, in_step=come_and_go)
    codes = job.wait()
    # It is a race whether the listener has seen it; either way the ranks do the same.
    assert codes in ([0, 0], [EXIT_PREEMPTED] * 2), job.log(0) + job.log(1)
    assert_stopped_together(tiny)


def test_the_next_save_is_brought_forward_when_the_notice_is_advice(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Advice makes all ranks save at one boundary, and the run goes on to its end."""
    tell = at_step(3, 1, lambda: put_flag(nodes(tmp_path)(1), urgency="advisory"))
    job = start(tiny, tmp_path, in_step=tell, save_every=1000, steps=60)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    saved = [line for line in job.log(0).splitlines() if "committed step=" in line]
    assert len(saved) == 2  # the one brought forward, and the final one
    assert "step=60" in saved[1]


def test_ranks_agree_on_the_code_when_the_notice_comes_in_the_last_step(
    tiny: Tiny, tmp_path: Path
) -> None:
    """With time enough the final save is committed and every rank exits 0."""
    tell = at_step(29, 1, lambda: put_flag(nodes(tmp_path)(1)))
    job = start(tiny, tmp_path, in_step=tell, step_s=0.05)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == 30


def test_a_run_is_bitwise_the_same_when_it_was_stopped_twice(tiny: Tiny, tmp_path: Path) -> None:
    """Two stops and resumes at 2 ranks leave ids, learning rates and losses as they were."""
    tiny = replace(tiny, steps=60)
    straight = replace(tiny, log_dir=tmp_path / "straight", checkpoint_dir=tmp_path / "other")
    straight.log_dir.mkdir()
    assert start(straight, tmp_path).wait() == [0, 0]
    for stop_in in (13, 24):
        tell = at_step(stop_in, 1, partial(put_flag, nodes(tmp_path)(1)))
        job = start(tiny, tmp_path, in_step=tell, step_s=0.03)
        assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
        remove_flag(nodes(tmp_path)(1))
    assert start(tiny, tmp_path).wait() == [0, 0]
    for rank in range(2):
        assert history(tiny.log_dir, rank) == history(straight.log_dir, rank)
        assert len(history(tiny.log_dir, rank)) == 60


def test_ranks_stop_at_one_boundary_within_a_step_when_its_parts_have_some(
    tiny: Tiny, tmp_path: Path
) -> None:
    """In a step of a thousand collectives, which would hang if one rank stopped before another."""

    def tell(rank: int, step: int, part: int) -> None:
        if (rank, step, part) == (1, 3, 20):
            put_flag(nodes(tmp_path)(1))

    job = start(tiny, tmp_path, parts=1000, in_part=tell, save_every=1000)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert assert_stopped_together(tiny) == 3
    for rank in range(2):
        assert "STOP step=3" in job.log(rank)
        assert "at_stop=none" in job.log(rank)
