"""What guards find among real ranks: who is slow, and whose parameters are not the others'."""

import json
import os
import time
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
from trainer_hooks.health import desk
from trainer_hooks.phases import Phase
from trainer_hooks.waste.lineage import read_ledger

pytestmark = pytest.mark.ranks

SLOW_S = 0.06
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


COMPARED = Health(compare_every=10)


def flip_a_bit_on(corrupt: int) -> Callable[[int, int, nn.Module], None]:
    """Return what makes the lowest bit of one parameter another on one rank, in step 22."""

    def flip(rank: int, step: int, model: nn.Module) -> None:
        if (rank, step) == (corrupt, 22):
            weight = model.get_parameter("module.1.weight").data
            weight.view(torch.int32)[1, 1] ^= 1

    return flip


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


def slow_backward_of_rank_1(rank: int, step: int, model: nn.Module) -> None:
    """From the step after this one on, hold up rank 1 with its last gradient."""
    if (rank, step) == (1, SLOW_FROM - 1):
        last = model.get_parameter("module.0.weight")
        last.register_post_accumulate_grad_hook(lambda _: time.sleep(SLOW_S))  # type: ignore[no-untyped-call]  # torch has not typed it


def slow_end_of_rank_1(rank: int, step: int, _: nn.Module) -> None:
    """Hold up rank 1 after its optimizer."""
    sleep_on_rank_1(rank, step)


@pytest.mark.parametrize("hold_up", [slow_backward_of_rank_1, slow_end_of_rank_1])
def test_rank_is_found_by_the_wait_for_it_when_it_is_slow_after_its_first_gradient(
    tiny: Tiny, tmp_path: Path, hold_up: Callable[[int, int, nn.Module], None]
) -> None:
    """Within 20 steps as well; its time before the first collective is the others'."""
    run = replace(tiny, model_in_step=hold_up)
    job = start(run, tmp_path)
    assert job.wait() == [0] * 3, job.log(0)
    [attempt] = read_ledger(tiny.checkpoint_dir)
    [finding] = attempt.findings
    assert SLOW_FROM < finding.step <= SLOW_FROM + 20
    assert finding.text.startswith("waited for by the others inside collectives: rank 1 by")
    assert sum(steps.straggler_s for steps in attempt.steps) > SLOW_S


def test_rank_that_waits_for_its_data_is_named_when_all_steps_are_equally_long(
    tiny: Tiny, tmp_path: Path
) -> None:
    """In the ledger and in the status of its node, where each rank tells how its steps go."""
    trainers = tmp_path / "run" / "trainers"
    trainers.mkdir(parents=True)

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(tmp_path / "run")
        os.environ["LOCAL_WORLD_SIZE"] = "3"
        desk.LOOK_S = 0.02
        replace(tiny, slow_data_s=SLOW_S if rank == 1 else 0.0).train(rank)

    job = start_ranks(3, main, tmp_path / "out")
    assert job.wait() == [0] * 3, job.log(0)
    [attempt] = read_ledger(tiny.checkpoint_dir)
    data, compute = attempt.phases[Phase.DATA], attempt.phases[Phase.COMPUTE]
    assert (data.ranks, data.rank) == (3, 1)
    assert data.most_s > SLOW_S * data.steps > data.median_s
    assert compute.rank != 1  # the others wait for it in the collectives
    [path] = trainers.iterdir()
    ranks = json.loads(path.read_text())["ranks"]
    assert max(range(3), key=lambda rank: ranks[rank]["data_s"]) == 1


@pytest.mark.parametrize("corrupt", [0, 2])
def test_corrupted_parameter_is_found_at_the_next_check_when_one_rank_has_it(
    tiny: Tiny, tmp_path: Path, corrupt: int
) -> None:
    """One bit of one value; the rank and the parameter are named."""
    watched = replace(tiny, health=COMPARED, model_in_step=flip_a_bit_on(corrupt))
    job = start(watched, tmp_path)
    assert job.wait() == [0] * 3, job.log(0)
    [attempt] = read_ledger(tiny.checkpoint_dir)
    finding = attempt.findings[0]
    assert (finding.guard, finding.step) == ("digest", 30), job.log(0)
    assert finding.text == (
        f"parameters of rank {corrupt} are not the others'; the first is module.1.weight"
    )


def test_training_is_bitwise_the_same_when_guards_watch(tiny: Tiny, tmp_path: Path) -> None:
    """Same losses, and nothing found."""
    histories = []
    for name, health in (("with", COMPARED), ("without", None)):
        run = replace(
            tiny,
            health=health,
            steps=40,
            checkpoint_dir=tmp_path / name / "checkpoints",
            log_dir=tmp_path / name,
        )
        run.log_dir.mkdir()
        assert start(run, tmp_path, ranks=2).wait() == [0, 0]
        histories.append([history(run.log_dir, rank) for rank in range(2)])
        [attempt] = read_ledger(run.checkpoint_dir)
        assert attempt.findings == []
    assert histories[0] == histories[1]


def test_loss_that_is_no_number_is_told_when_the_training_watches_it(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Of rank 1 alone, in step 22; on record where the ledger is kept."""

    def watch(rank: int, step: int, hooks: TrainerHooks) -> None:
        loss = torch.tensor(float("nan") if (rank, step) == (1, 22) else 1.0)
        hooks.watch(loss=loss, grad_norm=0.5)
        loss.zero_()  # whoever tells it may use it again

    job = start(replace(tiny, watch=watch), tmp_path, ranks=2)
    assert job.wait() == [0, 0], job.log(0)
    [attempt] = read_ledger(tiny.checkpoint_dir)
    [found] = [finding for finding in attempt.findings if finding.guard == "loss"]
    assert (found.step, found.text) == (22, "loss of rank 1 is nan")
    assert all("GUARD loss step=22" in job.log(rank) for rank in range(2))


def test_another_node_is_asked_for_by_the_rank_at_fault_when_that_is_wanted(
    tiny: Tiny, tmp_path: Path
) -> None:
    """By one file, of the one whose parameters are not the others'."""
    requests = tmp_path / "run" / "requests"
    requests.mkdir(parents=True)
    health = Health(straggler=False, compare_every=10, request_node=True)
    corrupted = replace(tiny, health=health, model_in_step=flip_a_bit_on(2), steps=40)

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(tmp_path / "run")
        corrupted.train(rank)

    job = start_ranks(3, main, tmp_path / "out")
    assert job.wait() == [0] * 3, job.log(0)
    [request] = requests.iterdir()
    assert request.name == f"r-digest-{job.pids[2]}.json"
    assert "parameters of rank 2" in json.loads(request.read_text())["text"]


@pytest.mark.parametrize(
    ("wrong_ranks", "looking", "asking"),
    [((1,), (0, 1, 2), [1]), ((0, 1, 2), (0, 1, 2), []), ((1,), (0, 1), []), ((1,), (1,), [])],
    ids=["alone", "with all", "one looks at none", "the only one that looks"],
)
def test_another_node_is_asked_for_when_the_loss_of_one_rank_alone_stays_away(
    tiny: Tiny,
    tmp_path: Path,
    *,
    wrong_ranks: tuple[int, ...],
    looking: tuple[int, ...],
    asking: list[int],
) -> None:
    """What all have in common accuses nobody, nor does one whom nobody can be compared with."""
    requests = tmp_path / "run" / "requests"
    requests.mkdir(parents=True)

    def watch(rank: int, step: int, hooks: TrainerHooks) -> None:
        time.sleep(0.05)  # the desks keep up
        if rank in looking:
            hooks.watch(loss=float("nan") if rank in wrong_ranks and step >= 10 else 1.0)

    health = Health(straggler=False, request_node_loss=True)
    wrong = replace(tiny, health=health, watch=watch, steps=40)

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(tmp_path / "run")
        wrong.train(rank)

    job = start_ranks(3, main, tmp_path / "out")
    assert job.wait() == [0] * 3, job.log(0)
    assert "has been away for 8 values" in job.log(0)
    names = [request.name for request in requests.iterdir()]
    assert names == [f"r-loss-{job.pids[rank]}.json" for rank in asking]
