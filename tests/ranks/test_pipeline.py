"""Stages of a pipeline: resumed bitwise, and refused where a checkpoint would lose some."""

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.support.piped import Piped, Stage, same_names
from tests.support.ranks import start_ranks
from tests.support.waiting import wait_until
from trainer_hooks import LocalSaves, cli, latest_committed

pytestmark = pytest.mark.ranks

REASON = re.compile(r"((?:ranks hold|the checkpoint's model has|\S+ holds a model) .*)")


def run_in(place: Path, **options: Any) -> Piped:  # noqa: ANN401 - Piped's own
    """Return a run whose directories are under a place."""
    options = {"until": 8, **options}
    return Piped(checkpoint_dir=place / "checkpoints", log_dir=place / "log", **options)


def train(run: Piped, ranks: int, *ends: int) -> None:
    """Train to each of some steps, a start after the other."""
    for until in ends:
        job = start_ranks(ranks, replace(run, until=until).train, run.log_dir.parent / "out")
        assert job.wait(120) == [0] * ranks, "".join(map(job.log, range(ranks)))
        assert ("RESUMED" in job.log(0)) == (until != ends[0])


def refused(run: Piped, ranks: int) -> str:
    """Train, and see that all ranks end with 78, for one reason; return it."""
    job = start_ranks(ranks, run.train, run.log_dir.parent / "out")
    assert job.wait(120) == [78] * ranks, "".join(map(job.log, range(ranks)))
    (reason,) = {REASON.findall(job.log(rank))[-1] for rank in range(ranks)}
    return str(reason)


@pytest.mark.parametrize(
    ("ranks", "way"),
    [(2, "ddp"), pytest.param(4, "ddp", marks=pytest.mark.slow),
     pytest.param(4, "fsdp2", marks=pytest.mark.slow)],
)  # fmt: skip
def test_training_goes_on_bitwise_when_its_stages_are_resumed(
    tmp_path: Path, ranks: int, way: str
) -> None:
    """Twice: each stage's parameters, moments, averages and random numbers, and its loss."""
    straight, broken = (run_in(tmp_path / name, way=way) for name in ("straight", "broken"))
    train(straight, ranks, 8)
    train(broken, ranks, 3, 6, 8)
    assert broken.logged(ranks) == straight.logged(ranks)
    for steps in straight.logged(ranks):
        assert len({step["state"] for step in steps}) == 8
    assert len({step["loss"] for step in straight.logged(ranks)[-1]}) == 8
    assert cli.run(["checkpoints", "verify", "--deep", str(broken.checkpoint_dir)]) == 0


def test_training_goes_on_bitwise_when_stages_are_resumed_from_their_nodes(tmp_path: Path) -> None:
    """After a crash, from what each rank has saved for itself."""
    straight = run_in(tmp_path / "straight")
    train(straight, 2, 8)
    node = tmp_path / "node"
    local = LocalSaves(directory=node, save_every=3)
    run = run_in(tmp_path / "broken", local=local)
    job = start_ranks(2, replace(run, in_step=partial(die_in_4, node)).train, tmp_path / "out")
    assert job.wait(120) == [9, 9]
    job = start_ranks(2, run.train, tmp_path / "out")
    assert job.wait(120) == [0, 0], job.log(0) + job.log(1)
    assert "RESUMED step=3" in job.log(0)
    assert "local=yes" in job.log(0)
    assert [steps[-5:] for steps in run.logged(2)] == [steps[-5:] for steps in straight.logged(2)]


def die_in_4(node: Path, _rank: int, step: int, _model: nn.Module) -> None:
    """Die of a crash in step 4, once all ranks have saved step 3 on their nodes."""
    if step == 4:
        roots = [node / f"rank_0000{rank}_of_00002" for rank in range(2)]
        wait_until(lambda: all(latest_committed(root) for root in roots))
        os._exit(9)


@pytest.mark.slow
def test_training_is_the_same_when_stages_are_resumed_by_more_and_fewer_replicas(
    tmp_path: Path,
) -> None:
    """A rank takes the state of any that has held its stage; losses but for rounding."""
    straight, broken = (run_in(tmp_path / name, dropout=0.0) for name in ("straight", "broken"))
    train(straight, 2, 8)
    for ranks, until in ((2, 3), (4, 6), (2, 8)):
        job = start_ranks(ranks, replace(broken, until=until).train, tmp_path / "out")
        assert job.wait(120) == [0] * ranks, "".join(map(job.log, range(ranks)))
    losses = {step["step"]: step["loss"] for step in broken.logged(4)[1] if step["loss"]}
    for step in straight.logged(2)[1]:
        if step["step"] in losses:
            assert losses[step["step"]] == pytest.approx(step["loss"], rel=1e-4)
    assert {*losses} == {0, 1, 2, 6, 7}


def test_stages_are_refused_when_they_share_names(tmp_path: Path) -> None:
    """At the first save, before any byte of it: of two tensors a checkpoint would keep one."""
    run = run_in(tmp_path, stage=same_names)
    reason = refused(run, 2)
    assert "layers.0.norm.weight on ranks 0, 1; " in reason
    assert re.search(r"and 5 more\. Stages of a pipeline need names of their own", reason)
    assert latest_committed(run.checkpoint_dir) is None


def cut_later(stage: int, dropout: float) -> nn.Module:
    """Return a stage of the same model, cut at another place."""
    return Stage(range(3) if stage == 0 else range(3, 4), dropout)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"stage": cut_later}, r"holds a model that was cut into stages, and none of them is what"),
        ({"stages": (0, 0)}, r"has 8 tensors that no rank holds here \(layers\.2\.linear\.bias, "),
    ],
    ids=["cut elsewhere", "a stage is missing"],
)
def test_checkpoint_is_refused_when_its_stages_are_others(
    tmp_path: Path, wrong: dict[str, Any], reason: str
) -> None:
    """On all ranks, also those whose own stage is there."""
    run = run_in(tmp_path)
    train(run, 2, 3)
    assert re.search(reason, refused(replace(run, **wrong), 2))


def drift(rank: int, step: int, model: nn.Module) -> None:
    """Let one replica of the second stage go its own way."""
    if (rank, step) == (3, 1):
        with torch.no_grad():
            next(iter(model.parameters())).view(-1)[3] += 1e-6


@pytest.mark.slow
def test_replicas_of_a_stage_that_have_parted_are_said_and_saved(tmp_path: Path) -> None:
    """By name, with the ranks that hold it; DDP keeps them alike, so it is no set-up."""
    run = run_in(tmp_path, in_step=drift)
    job = start_ranks(4, run.train, run.log_dir.parent / "out")
    assert job.wait(120) == [0] * 4, "".join(map(job.log, range(4)))
    assert "torch keeps alike differ: layers.2.norm.weight on ranks 2, 3. Check" in job.log(0)
