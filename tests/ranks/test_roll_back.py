"""Ranks whose loss leaps away, or whose parameters part: the next start resumes from before it."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.support.history import history
from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import Health, TrainerHooks
from trainer_hooks.checkpoint.latest import committed
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.records import Outcome

pytestmark = pytest.mark.ranks

LEAPS_FROM = 45
STEPS = 70


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run of steps long enough for the ranks to hear of it."""
    (tmp_path / "log").mkdir()
    return Tiny(
        checkpoint_dir=tmp_path / "checkpoints",
        log_dir=tmp_path / "log",
        steps=STEPS,
        step_s=0.03,
        health=Health(straggler=False, roll_back_loss=True),
    )


def start(tiny: Tiny, tmp_path: Path) -> Job:
    """Start two ranks."""
    return start_ranks(2, tiny.train, tmp_path / "out")


def told(leaps: range) -> Callable[[int, int, TrainerHooks], None]:
    """Return what tells a loss of about 2, and of about 50 in some steps of rank 1."""
    seed = random.randrange(2**32)  # noqa: S311 - noise, not a secret
    print(f"seed={seed}")  # noqa: T201 - to play it again

    def watch(rank: int, step: int, hooks: TrainerHooks) -> None:
        noise = random.Random(seed + 2 * step + rank).lognormvariate(0.0, 0.05)  # noqa: S311 - likewise
        is_away = rank == 1 and step in leaps
        hooks.watch(loss=torch.tensor((50.0 if is_away else 2.0) * noise))

    return watch


def stopped_at(job: Job) -> set[str]:
    """Return the steps at which its two ranks say that they stop."""
    lines = [line for rank in range(2) for line in job.log(rank).splitlines()]
    stops = [line.split("STOP step=")[1].split()[0] for line in lines if "STOP step=" in line]
    assert len(stops) == 2, lines
    return set(stops)


def test_run_resumes_before_the_leap_when_its_loss_stays_away(tiny: Tiny, tmp_path: Path) -> None:
    """All ranks exit with 75 at one step; then it is bitwise the run that never leapt."""
    leaping = replace(tiny, watch=told(range(LEAPS_FROM, STEPS)))
    job = start(leaping, tmp_path)
    assert job.wait() == [75, 75], job.log(0)
    assert "GUARD loss step=45: loss of rank 1 is" in job.log(0)
    assert "ROLLBACK to step 40: all ranks stop" in job.log(0)
    assert len(stopped_at(job)) == 1
    newest = next(committed(tiny.checkpoint_dir))
    assert newest.step == 40
    late = {name for name in saves(tiny.checkpoint_dir) if name.step > 40}
    assert names_with(tiny.checkpoint_dir, Mark.QUARANTINED) == late != set()

    job = start(replace(tiny, watch=told(range(0))), tmp_path)
    assert job.wait() == [0, 0], job.log(0)
    first, second = read_ledger(tiny.checkpoint_dir)
    assert first.end is not None
    assert (first.end.outcome, second.begin.resumed_step) == (Outcome.ROLLED_BACK, 40)

    straight = replace(
        tiny, checkpoint_dir=tmp_path / "straight", log_dir=tmp_path / "straight_log", health=None
    )
    straight.log_dir.mkdir()
    assert start(straight, tmp_path).wait() == [0, 0]
    for rank in range(2):
        assert history(tiny.log_dir, rank) == history(straight.log_dir, rank)


CORRUPT_IN = 22


@pytest.fixture
def compared(tiny: Tiny) -> Tiny:
    """A run whose parameters are compared every ten steps, and saved every five."""
    health = Health(straggler=False, compare_every=10, roll_back=True)
    return replace(tiny, health=health, steps=60, save_every=5, step_s=0.05)


def corrupted(tiny: Tiny, corrupt: int) -> Tiny:
    """Return it with the lowest bit of one parameter flipped on one rank, between two saves."""

    def flip(rank: int, step: int, model: nn.Module) -> None:
        if (rank, step) == (corrupt, CORRUPT_IN):
            weight = model.get_parameter("module.1.weight").data
            weight.view(torch.int32)[1, 1] ^= 1

    return replace(tiny, model_in_step=flip)


@pytest.mark.timeout(180)  # three jobs of two ranks; 15 s, and more on a machine with much to do
@pytest.mark.parametrize("corrupt", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_run_resumes_before_the_corruption_when_parameters_part(
    compared: Tiny, tmp_path: Path, corrupt: int
) -> None:
    """Found at 30, good at 20: what rank 0 saved at 25 is no state to go on from, nor what came."""
    job = start(corrupted(compared, corrupt), tmp_path)
    assert job.wait() == [75, 75], job.log(0)
    assert "ROLLBACK to step 20: all ranks stop: parameters of ranks 0, 1 differ" in job.log(0)
    assert len(stopped_at(job)) == 1
    assert next(committed(compared.checkpoint_dir)).step == 20
    late = {name for name in saves(compared.checkpoint_dir) if name.step > 20}
    assert names_with(compared.checkpoint_dir, Mark.QUARANTINED) == late
    assert 25 in {name.step for name in late}

    healthy = replace(compared, log_dir=tmp_path / "healthy")
    healthy.log_dir.mkdir()
    job = start(healthy, tmp_path)
    assert job.wait() == [0, 0], job.log(0)
    first, second = read_ledger(compared.checkpoint_dir)
    assert first.end is not None
    assert (first.end.outcome, second.begin.resumed_step) == (Outcome.ROLLED_BACK, 20)
    assert (first.findings[0].guard, first.findings[0].step) == ("digest", 30)
    assert second.findings == []

    straight = replace(
        compared, checkpoint_dir=tmp_path / "straight", log_dir=tmp_path / "straight_log"
    )
    straight.log_dir.mkdir()
    assert start(straight, tmp_path).wait() == [0, 0]
    for rank in range(2):
        redone = history(healthy.log_dir, rank)
        assert min(redone) == 20
        assert redone.items() <= history(straight.log_dir, rank).items()


@pytest.mark.slow
def test_run_goes_on_when_parameters_part_again_after_a_roll_back(
    compared: Tiny, tmp_path: Path
) -> None:
    """A device that does it each time would have the job go round for ever; the log says so."""
    assert start(corrupted(compared, 1), tmp_path).wait() == [75, 75]
    job = start(corrupted(compared, 1), tmp_path)
    assert job.wait() == [0, 0], job.log(0)
    assert "it was rolled back to step 20 before, and it did not help" in job.log(0)


@pytest.mark.slow
def test_run_resumes_before_the_leap_when_its_gradient_norm_stays_away(
    tiny: Tiny, tmp_path: Path
) -> None:
    """As for a loss, where that is wanted."""

    def watch(_: int, step: int, hooks: TrainerHooks) -> None:
        hooks.watch(grad_norm=(50.0 if step >= LEAPS_FROM else 2.0) + 0.01 * (step % 3))

    health = Health(straggler=False, roll_back_loss=True, roll_back_grad_norm=True)
    job = start(replace(tiny, health=health, watch=watch), tmp_path)
    assert job.wait() == [75, 75], job.log(0)
    assert "GUARD grad_norm step=45" in job.log(0)
    assert "ROLLBACK to step 40: all ranks stop: grad_norm of rank" in job.log(0)
    assert next(committed(tiny.checkpoint_dir)).step == 40


@pytest.mark.slow
def test_run_goes_on_when_it_leaps_again_after_a_roll_back(tiny: Tiny, tmp_path: Path) -> None:
    """It would go round for ever: to one checkpoint it goes back once."""
    leaping = replace(tiny, watch=told(range(LEAPS_FROM, STEPS)))
    assert start(leaping, tmp_path).wait() == [75, 75]
    again = replace(tiny, steps=95, watch=told(range(80, 95)))
    job = start(replace(again, save_every=100), tmp_path)
    assert job.wait() == [0, 0], job.log(0)
    assert "it was rolled back to step 40 before, and it did not help" in job.log(0)
    assert read_ledger(tiny.checkpoint_dir)[-1].begin.resumed_step == 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("health", "leaps"),
    [(Health(straggler=False), range(LEAPS_FROM, STEPS)), (None, range(45, 48))],
    ids=["off", "one-that-comes-back"],
)
def test_run_goes_on_when_no_roll_back_is_wanted_or_the_loss_comes_back(
    tiny: Tiny, tmp_path: Path, health: Health | None, leaps: range
) -> None:
    """By default it is a warning; a few odd batches are one in any case."""
    job = start(replace(tiny, health=health or tiny.health, watch=told(leaps)), tmp_path)
    assert job.wait() == [0, 0], job.log(0)
    assert "GUARD loss step=45" in job.log(0)
    assert "ROLLBACK" not in job.log(0)
    assert names_with(tiny.checkpoint_dir, Mark.QUARANTINED) == set()


@pytest.mark.parametrize(
    "corrupt_in", [58, pytest.param(53, marks=pytest.mark.slow)], ids=["last", "before-the-last"]
)
def test_run_is_not_finished_when_parameters_part_in_its_last_steps(
    compared: Tiny, tmp_path: Path, corrupt_in: int
) -> None:
    """No step follows in which all could hear of it: the end awaits the comparison, and its ruling.

    The run ends at 59, which is no tenth step: what it leaves is compared all the same.
    """

    def flip(rank: int, step: int, model: nn.Module) -> None:
        if (rank, step) == (1, corrupt_in):
            model.get_parameter("module.1.weight").data.view(torch.int32)[1, 1] ^= 1

    short = replace(compared, steps=59, step_s=0.01)
    job = start(replace(short, model_in_step=flip), tmp_path)
    assert job.wait() == [75, 75], job.log(0)
    assert "ROLLBACK to step 50: all ranks stop: parameters of ranks 0, 1 differ" in job.log(0)
    assert stopped_at(job) == {"59"}
    assert next(committed(compared.checkpoint_dir)).step == 50
    [attempt] = read_ledger(compared.checkpoint_dir)
    assert attempt.end is not None
    assert attempt.end.outcome is Outcome.ROLLED_BACK
    assert [(found.guard, found.step) for found in attempt.findings] == [("digest", 59)]
    assert start(short, tmp_path).wait() == [0, 0]
    assert next(committed(compared.checkpoint_dir)).step == 59
