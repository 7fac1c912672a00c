"""torchtitan's checkpointer protocol, served by TrainerHooks: save, load, stop and close."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.checkpoint import save

from tests.support.history import history, steps_done
from tests.support.ranks import start_ranks
from trainer_hooks import EXIT_PREEMPTED, cli, latest_committed

WANTED = "needs the extra torchtitan"
for module in ("torchtitan", "tyro", "spmd_types"):
    pytest.importorskip(module, reason=WANTED)

from tests.support.titan import Titan  # noqa: E402 - as above

pytestmark = [
    pytest.mark.ranks,
    pytest.mark.filterwarnings("ignore:.set_vital. is deprecated"),  # torchdata 0.11 calls it
    pytest.mark.filterwarnings("ignore:To get the last learning rate"),  # torchtitan's schedules do
]


def train(run: Titan, code: int = 0) -> list[str]:
    """Train on two ranks, which both leave with a code; return what each has said."""
    run.place.mkdir(exist_ok=True)
    job = start_ranks(2, run.train, run.place / "out")
    assert job.wait() == [code] * 2, job.log(0) + job.log(1)
    return [job.log(rank) for rank in range(2)]


def committed(run: Titan) -> int:
    """Return the newest step that is committed."""
    checkpoint = latest_committed(run.place / "checkpoints")
    assert checkpoint is not None
    return checkpoint.step


def test_training_resumes_bitwise_when_one_rank_of_two_has_a_notice(tmp_path: Path) -> None:
    """Both stop at one step with 75; data, rates and losses go on as in the unbroken training."""
    straight, broken = (Titan(place=tmp_path / name) for name in ("straight", "broken"))
    assert "RESUMED" not in train(straight)[0]
    train(replace(broken, notice=(1, 17)), EXIT_PREEMPTED)
    (last,) = {steps_done(broken.place, rank)[-1] for rank in range(2)}
    assert 17 <= last < 30
    step = committed(broken)
    assert step in {last, 10}
    for directory in broken.place.glob("run_*"):
        shutil.rmtree(directory)
    said = train(broken)
    for rank in range(2):
        assert steps_done(broken.place, rank)[-1] == 30
        assert history(broken.place, rank) == history(straight.place, rank)
    assert f"RESUMED step={step}" in said[0]
    assert committed(broken) == 30


@pytest.mark.slow
def test_torchtitans_own_loop_stops_and_resumes_bitwise(tmp_path: Path) -> None:
    """``Trainer.train`` itself, but for its step and its set-up, which want a GPU."""
    wanted = "needs all that torchtitan requires, and triton: pip install torchtitan triton"
    pytest.importorskip("torchtitan.trainer", reason=wanted, exc_type=ImportError)
    from tests.support.titan_loop import InItsLoop  # noqa: PLC0415 - only where it can be

    straight, broken = (InItsLoop(place=tmp_path / name) for name in ("straight", "broken"))
    train(straight)
    train(replace(broken, notice=(1, 17)), EXIT_PREEMPTED)
    (last,) = {steps_done(broken.place, rank)[-1] for rank in range(2)}
    assert 17 <= last < 30
    for directory in broken.place.glob("run_*"):
        shutil.rmtree(directory)
    assert f"RESUMED step={committed(broken)}" in train(broken)[0]
    for rank in range(2):
        assert steps_done(broken.place, rank)[-1] == 30
        assert history(broken.place, rank) == history(straight.place, rank)


@pytest.mark.slow
def test_save_in_flight_is_committed_when_a_step_fails(tmp_path: Path) -> None:
    """torchtitan closes its checkpointer as it handles the error, which then is the reason."""
    run = Titan(place=tmp_path / "run", fails_in=12)
    said = train(run, 1)
    assert "ArithmeticError: the loss is no number" in said[0]
    assert committed(run) == 10
    assert cli.run(["checkpoints", "verify", "--deep", str(run.place / "checkpoints")]) == 0


@pytest.mark.slow
def test_checkpoints_are_kept_as_torchtitan_is_told(tmp_path: Path) -> None:
    """So many of the newest, and by its interval."""
    run = Titan(place=tmp_path / "run", settings={"interval": 5, "keep_latest_k": 2})
    train(run)
    names = sorted(one.name for one in (run.place / "checkpoints").glob("step_*"))
    assert [name.split(".")[0] for name in names] == ["step_000000025", "step_000000030"]


@pytest.mark.slow
def test_model_of_another_training_is_taken_where_there_is_nothing_to_resume(
    tmp_path: Path,
) -> None:
    """By torchtitan's own loader, from step 0 on, with the data from its beginning."""
    weights = {"0.weight": torch.full((8, 4), 0.5), "0.bias": torch.zeros(8)}
    weights |= {"2.weight": torch.full((1, 8), 0.25), "2.bias": torch.zeros(1)}
    start = start_ranks(1, lambda _: save(weights, checkpoint_id=tmp_path / "step-7"), tmp_path)
    assert start.wait() == [0], start.log(0)
    settings = {"initial_load_path": str(tmp_path / "step-7")}
    given = Titan(place=tmp_path / "given", settings=settings, steps=3)
    made = Titan(place=tmp_path / "made", steps=3, before=lambda model: put(model, weights))
    train(given)
    train(made)
    assert history(given.place, 0) == history(made.place, 0)


def put(model: nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Give a model weights."""
    model.load_state_dict(weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"last_save_in_hf": True}, "checkpoint.last_save_in_hf is not supported here: the last"),
        ({"exclude_from_loading": ["optimizer"]}, "checkpoint.exclude_from_loading is not"),
        ({"initial_load_path": "/x", "initial_load_model_only": False}, "begin at another step"),
    ],
)
def test_setting_is_refused_by_name_when_it_would_not_be_heeded(
    tmp_path: Path, settings: dict[str, Any], reason: str
) -> None:
    """Before anything is trained, on all ranks."""
    for said in train(Titan(place=tmp_path / "run", settings=settings), 1):
        assert reason in said
