"""Whose copy of a replicated tensor is kept: any rank's of a parameter, rank 0's of a buffer."""

from dataclasses import replace

import torch
from torch.distributed.checkpoint.planner import SavePlan

from tests.support.training import Run
from trainer_hooks.checkpoint.planner import LowestRankBuffers


def plans_of(tensors: dict[str, torch.Tensor], ranks: int) -> list[SavePlan]:
    """Return the plans of ranks that all hold the same tensors."""
    planner = LowestRankBuffers()
    planner.set_up_planner(tensors, is_coordinator=True)
    local = planner.create_local_plan()
    planned, _ = planner.create_global_plan([replace(local) for _ in range(ranks)])
    return planned


def test_buffers_are_the_lowest_ranks_when_all_ranks_hold_them() -> None:
    """And every tensor is written by exactly one rank."""
    run = Run()
    run.step()
    tensors = run.state.capture(1).tensors
    plans = plans_of(tensors, 4)
    written = [[item.index.fqn for item in plan.items] for plan in plans]
    assert sorted(fqn for of_rank in written for fqn in of_rank) == sorted(tensors)
    buffers = {f"model.norm.{name}" for name, _ in run.model.norm.named_buffers()}
    assert len(buffers) == 3
    assert buffers <= set(written[0])
    assert all(of_rank for of_rank in written)


def test_plan_is_whole_when_one_rank_alone_saves() -> None:
    """Nothing is dropped."""
    run = Run(optimizer="sgd")
    run.step()
    tensors = run.state.capture(1).tensors
    (plan,) = plans_of(tensors, 1)
    assert sorted(item.index.fqn for item in plan.items) == sorted(tensors)
