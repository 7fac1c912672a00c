"""A loop that fetches its samples itself and tells how many: the same ones on any ranks."""

import json
import logging
import os
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tests.support.ranks import start_ranks
from trainer_hooks import ResumableSampler, TrainerHooks, TrainState
from trainer_hooks.step_log import VARIABLE

pytestmark = pytest.mark.ranks

GLOBAL, SIZE = 12, 53
"""Samples of a step, and of an epoch."""


def train(directory: Path, log_dir: Path, until: int, _rank: int) -> None:
    """Train on so many ranks as there are, with a step log."""
    logging.basicConfig(level=logging.INFO, force=True)
    os.environ[VARIABLE] = str(log_dir)
    torch.manual_seed(2)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    sampler = ResumableSampler(SIZE, seed=3)
    data = torch.rand(SIZE, 3, generator=torch.Generator().manual_seed(5))
    state = TrainState(model=model, optimizer=optimizer, scheduler=None, scaler=None, data=sampler)
    with TrainerHooks(state, checkpoint_dir=directory, save_every=5) as hooks:
        ids = iter(sampler)
        for _ in hooks.steps(until=until):
            mine = list(islice(ids, GLOBAL // sampler.world_size))
            loss = model(data[mine]).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            hooks.note_loss(loss)
            hooks.consumed(len(mine))


def steps(directory: Path, *starts: tuple[int, int]) -> list[list[dict[str, Any]]]:
    """Train on some ranks to a step, then on others to another; return what each rank logged."""
    for ranks, until in starts:
        log_dir = directory / f"log_{until}"
        train_here = partial(train, directory / "run", log_dir, until)
        job = start_ranks(ranks, train_here, directory / f"out_{until}")
        assert job.wait() == [0] * ranks, "".join(map(job.log, range(ranks)))
    return [
        [json.loads(line) for line in file.read_text().splitlines()]
        for _, until in starts
        for file in sorted((directory / f"log_{until}").iterdir())
    ]


def test_samples_and_losses_are_those_of_an_unbroken_run_when_it_is_resumed(tmp_path: Path) -> None:
    """On each rank, in the middle of an epoch, bit for bit."""
    straight = steps(tmp_path / "straight", (2, 14))
    broken = steps(tmp_path / "broken", (2, 8), (2, 14))
    for rank in range(2):
        done = [step for start in broken[rank::2] for step in start]
        for one, other in zip(done, straight[rank], strict=True):
            assert {k: one[k] for k in ("step", "ids", "loss", "state")} == {
                k: other[k] for k in ("step", "ids", "loss", "state")
            }
    assert len({id_ for step in straight[0] + straight[1] for id_ in step["ids"]}) == SIZE


def test_samples_of_each_step_are_the_same_when_other_ranks_resume(tmp_path: Path) -> None:
    """Each takes its share of the same global batch."""

    def together(logs: list[list[dict[str, Any]]]) -> dict[int, list[int]]:
        dealt: dict[int, list[int]] = {}
        for step in (step for log in logs for step in log):
            dealt.setdefault(step["step"], []).extend(step["ids"])
        return {step: sorted(ids) for step, ids in dealt.items()}

    straight = together(steps(tmp_path / "straight", (2, 12)))
    assert together(steps(tmp_path / "broken", (2, 4), (1, 7), (3, 12))) == straight
    assert [len(ids) for ids in straight.values()] == [GLOBAL] * 12
