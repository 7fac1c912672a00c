"""Accelerate's loop under TrainerHooks: stopped together, resumed exactly, and its own saves."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from tests.support.history import history, steps_done
from tests.support.ranks import start_ranks
from trainer_hooks import EXIT_PREEMPTED, ResumableSampler, latest_committed
from trainer_hooks.errors import ConfigError

accelerate = pytest.importorskip("accelerate", reason="needs the extra accelerate")

from tests.support.accelerated import Accelerated  # noqa: E402 - as above
from trainer_hooks.integrations.accelerate import REGISTERED, Prepared  # noqa: E402 - as above

pytestmark = pytest.mark.ranks


def run_in(place: Path, **options: Any) -> Accelerated:  # noqa: ANN401 - Accelerated's own
    """Return a run of its own place."""
    place.mkdir(exist_ok=True)
    return Accelerated(place=place, **options)


def train(run: Accelerated, ranks: int, code: int = 0) -> str:
    """Train on so many ranks, which all leave with a code; return what rank 0 has said."""
    job = start_ranks(ranks, run.train, run.place / "out")
    assert job.wait() == [code] * ranks, "".join(map(job.log, range(ranks)))
    return job.log(0)


def stopped_at(run: Accelerated, ranks: int) -> tuple[int, int]:
    """Return the step that all ranks stopped after, and the newest that is committed.

    That is the same one, unless the save before was still in flight when the notice came.
    """
    (last,) = {steps_done(run.place, rank)[-1] for rank in range(ranks)}
    checkpoint = latest_committed(run.place / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step in {last + 1, last // 10 * 10}
    return last + 1, checkpoint.step


def withdraw(run: Accelerated) -> None:
    """Take the notices back, as another node has none."""
    for directory in run.place.glob("run_*"):
        shutil.rmtree(directory)


def test_run_resumes_bitwise_when_one_rank_of_two_has_a_notice(tmp_path: Path) -> None:
    """Sample ids, learning rate, each batch's loss, and what the user has registered."""
    straight, broken = (run_in(tmp_path / name) for name in ("straight", "broken"))
    train(straight, 2)
    train(replace(broken, notice=(1, 17)), 2, EXIT_PREEMPTED)
    step, committed = stopped_at(broken, 2)
    assert 18 <= step < 30
    withdraw(broken)
    assert f"RESUMED step={committed}" in train(broken, 2)
    for rank in range(2):
        assert history(broken.place, rank) == history(straight.place, rank)
        assert len(history(broken.place, rank)) == 30
        assert all(len(ids) == 8 for ids, _, _ in history(broken.place, rank).values())


@pytest.mark.slow
def test_all_ranks_stop_when_only_rank_3_of_4_has_a_notice(tmp_path: Path) -> None:
    """At one step, with 75 and a checkpoint."""
    run = run_in(tmp_path / "run", notice=(3, 17), steps=1000)
    train(run, 4, EXIT_PREEMPTED)
    step, _ = stopped_at(run, 4)
    assert 18 <= step < 1000


@pytest.mark.slow
def test_ranks_share_a_batch_when_accelerate_splits_it(tmp_path: Path) -> None:
    """With split_batches a batch of 4 is one of 2 on each of 2 ranks; nobody has another's."""
    run = run_in(tmp_path / "run", split_batches=True, accumulate=1, steps=10)
    train(run, 2)
    done = [[ids for ids, _, _ in history(run.place, rank).values()] for rank in range(2)]
    assert all(len(ids) == 2 for ids in done[0] + done[1])
    assert not {*chain(*done[0])} & {*chain(*done[1])}


@pytest.mark.slow
def test_position_is_in_accelerates_own_save_when_it_is_registered(tmp_path: Path) -> None:
    """save_state amid a run changes nothing, and load_state brings the position back."""

    def save(step: int, accelerator: Any, prepared: Prepared) -> None:  # noqa: ANN401 - untyped
        if step == 6:
            accelerator.save_state(str(tmp_path / "own"))
            accelerator.wait_for_everyone()
            before = prepared.state_dict()
            prepared.load_state_dict({**before, "position": 0})
            accelerator.load_state(str(tmp_path / "own"))
            assert prepared.state_dict() == before
            assert before["position"] == 7 * 2 * 2 * 4

    straight, saving = (run_in(tmp_path / name) for name in ("straight", "saving"))
    train(straight, 2)
    train(replace(saving, in_step=save), 2)
    assert history(saving.place, 0) == history(straight.place, 0)


def refusal(change: Callable[[Any], Any]) -> str:
    """Return why a loader is refused on one rank, printed by it."""
    accelerator = accelerate.Accelerator(cpu=True)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = change(accelerator)
    with pytest.raises(ConfigError) as caught:
        Prepared(accelerator, *accelerator.prepare(model, optimizer, loader))
    return str(caught.value)


def test_loader_is_refused_by_name_when_nobody_keeps_its_position(tmp_path: Path) -> None:
    """One that shuffles; and one whose sampler was made for other ranks than there are."""

    def on_rank(_: int) -> None:
        shuffled = refusal(lambda _: DataLoader(range(8), 2, shuffle=True))  # type: ignore[arg-type]  # any sequence
        assert "goes by a RandomSampler" in shuffled
        early = ResumableSampler(8, rank=0, world_size=2)
        assert "deals to 2 ranks" in refusal(lambda _: DataLoader(range(8), 2, sampler=early))  # type: ignore[arg-type]  # likewise

    job = start_ranks(1, on_rank, tmp_path / "out")
    assert job.wait() == [0], job.log(0)


def test_what_is_registered_later_is_part_of_the_state(tmp_path: Path) -> None:
    """The private name that Accelerate keeps it under is there; Prepared itself is not kept."""

    def on_rank(_: int) -> None:
        accelerator = accelerate.Accelerator(cpu=True)
        model = nn.Linear(1, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = DataLoader([*range(8)], 2, sampler=ResumableSampler(8))  # type: ignore[var-annotated, arg-type]  # any sequence
        prepared = Prepared(accelerator, *accelerator.prepare(model, optimizer, loader))
        assert getattr(accelerator, REGISTERED) == []
        schedule = torch.optim.lr_scheduler.ConstantLR(optimizer)
        accelerator.register_for_checkpointing(prepared, schedule)
        assert dict(prepared.state.extras) == {"registered_1": schedule}

    job = start_ranks(1, on_rank, tmp_path / "out")
    assert job.wait() == [0], job.log(0)
