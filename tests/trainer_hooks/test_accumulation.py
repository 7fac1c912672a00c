"""The accumulation plan: a global batch is held exactly, by whatever number of ranks."""

from fractions import Fraction
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from trainer_hooks.accumulation import AccumulationPlan, plan_accumulation
from trainer_hooks.errors import ConfigError


@st.composite
def plans(draw: st.DrawFn) -> AccumulationPlan:
    """Return any plan that holds its global batch."""
    world_size = draw(st.integers(1, 40))
    return plan_accumulation(
        draw(st.integers(world_size, 500)), world_size, draw(st.integers(1, 20))
    )


@given(plan=plans())
def test_plan_deals_each_sample_once_when_it_does_not_divide(plan: AccumulationPlan) -> None:
    """In as many micro-batches on every rank, none too large, and the fewest that will do."""
    sizes = [plan.sizes(rank) for rank in range(plan.world_size)]
    assert sum(map(sum, sizes)) == plan.global_batch
    assert {len(each) for each in sizes} == {plan.micro_batches}
    assert max(map(max, sizes)) <= plan.micro_batch
    assert max(map(sum, sizes)) > (plan.micro_batches - 1) * plan.micro_batch
    assert max(map(sum, sizes)) - min(map(sum, sizes)) <= 1
    assert all(more >= fewer for more, fewer in pairwise(sizes))


@given(plan=plans())
def test_weights_are_a_mean_over_samples_when_ranks_have_more_and_fewer(
    plan: AccumulationPlan,
) -> None:
    """What ranks average has each sample once, with one part in the global batch."""
    for rank in range(plan.world_size):
        for size, weight in zip(plan.sizes(rank), plan.weights(rank), strict=True):
            assert weight == float(Fraction(plan.world_size * size, plan.global_batch))


@pytest.mark.parametrize(
    ("batch", "ranks", "micro", "sizes"),
    [
        (16, 4, 2, [(2, 2)] * 4),
        (16, 3, 2, [(2, 2, 2), (2, 2, 1), (2, 2, 1)]),
        (16, 2, 2, [(2, 2, 2, 2)] * 2),
        (16, 2, 3, [(3, 3, 2)] * 2),
        (512, 448, 1, [(1, 1)] * 64 + [(1, 0)] * 384),
        (5, 4, 1, [(1, 1), (1, 0), (1, 0), (1, 0)]),
        (1, 1, 8, [(1,)]),
    ],
)
def test_plan_is_the_pinned_one_when_numbers_are_given(
    batch: int, ranks: int, micro: int, sizes: list[tuple[int, ...]]
) -> None:
    """Where a rank has nothing left it makes a micro-batch that counts for nothing."""
    plan = plan_accumulation(batch, ranks, micro)
    assert [plan.sizes(rank) for rank in range(ranks)] == sizes


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 7])
def test_gradient_is_that_of_the_whole_batch_when_ranks_average_theirs(ranks: int) -> None:
    """As DDP and FSDP do, in double precision."""
    torch.manual_seed(0)
    model = nn.Linear(3, 1, dtype=torch.float64)
    inputs = torch.rand(16, 3, dtype=torch.float64)
    (whole,) = torch.autograd.grad(model(inputs).square().mean(), [model.weight])
    plan = plan_accumulation(16, ranks, 2)
    averaged = torch.zeros_like(whole)
    for rank in range(ranks):
        rest = inputs[rank::ranks]
        for size, weight in zip(plan.sizes(rank), plan.weights(rank), strict=True):
            mine, rest = rest[: size or 1], rest[size:]
            if size:
                loss = model(mine).square().mean() * weight
                averaged += torch.autograd.grad(loss, [model.weight])[0] / ranks
    torch.testing.assert_close(averaged, whole)


@pytest.mark.parametrize(
    ("batch", "ranks", "micro", "taken"),
    [(16, 3, 2, 18), (16, 4, 2, 16), (512, 448, 1, 448), (5, 8, 1, 8), (14, 4, 2, 16)],
)
def test_nearest_whole_batch_is_taken_when_another_one_is_accepted(
    batch: int, ranks: int, micro: int, taken: int
) -> None:
    """All micro-batches are full then, and count alike; one that divides is held all the same."""
    plan = plan_accumulation(batch, ranks, micro, accept_other_batch=True)
    assert (plan.global_batch, plan.asked_for) == (taken, batch)
    assert len({plan.weights(rank) for rank in range(ranks)}) == 1


@pytest.mark.parametrize(
    ("batch", "ranks", "micro", "why"),
    [
        (0, 1, 1, "at least 1"),
        (8, 0, 1, "at least 1"),
        (8, 1, 0, "at least 1"),
        (3, 4, 1, "4 ranks cannot share a global batch of 3 samples: start fewer"),
    ],
)
def test_plan_is_refused_when_it_cannot_be(batch: int, ranks: int, micro: int, why: str) -> None:
    """With what to do."""
    with pytest.raises(ConfigError, match=why):
        plan_accumulation(batch, ranks, micro)
