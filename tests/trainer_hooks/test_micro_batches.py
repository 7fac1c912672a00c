"""Micro-batches of a plan: a step's samples are the same at any number of ranks."""

import logging
from itertools import chain, islice
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from tests.trainer_hooks.test_batches import Ids
from trainer_hooks.accumulation import AccumulationPlan, plan_accumulation
from trainer_hooks.batches import counted_batches
from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError, StateError
from trainer_hooks.micro_batches import MicroBatches
from trainer_hooks.untrusted import Json

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on one core

SIZE, GLOBAL = 37, 10


def micro_batches(
    rank: int,
    ranks: int,
    plan: AccumulationPlan | None = None,
    state: dict[str, Json] | None = None,
) -> MicroBatches:
    """Return those of one rank, from a saved position on."""
    sampler = ResumableSampler(SIZE, seed=3, rank=rank, world_size=ranks)
    if state is not None:
        sampler.load_state_dict(state)
    return MicroBatches(sampler, plan or plan_accumulation(GLOBAL, ranks, 2))


def steps(micro: MicroBatches, count: int, **options: Any) -> list[list[int]]:  # noqa: ANN401 - DataLoader's own
    """Return the samples that count in each step, as a rank is handed them; the position moves."""
    loader: DataLoader[Any] = DataLoader(
        Ids(), batch_sampler=micro, generator=torch.Generator(), **options
    )
    batches = counted_batches(loader)
    taken = []
    for _ in range(count):
        before, step = micro.sampler.position, []
        for size in micro.plan.sizes(micro.sampler.rank):
            assert micro.sampler.position == before
            batch = next(batches).tolist()
            assert len(batch) == max(1, size)
            step += batch[:size]
        assert micro.sampler.position == before + micro.plan.global_batch
        assert micro.sampler.ids_since(before) == step
        taken.append(step)
    batches.close()
    return taken


@pytest.mark.parametrize("options", [{}, {"num_workers": 2, "prefetch_factor": 5}])
def test_steps_have_the_same_samples_when_the_number_of_ranks_changes(
    options: dict[str, Any],
) -> None:
    """4, 3, 2, 7 and 4 ranks after each other, over ends of epochs, prefetched or not."""
    alone = ResumableSampler(SIZE, seed=3, rank=0, world_size=1)
    state: dict[str, Json] | None = None
    for ranks in (4, 3, 2, 7, 4):
        each = [micro_batches(rank, ranks, state=state) for rank in range(ranks)]
        taken = [steps(micro, 3, **options) for micro in each]
        together = [sorted(chain(*step)) for step in zip(*taken, strict=True)]
        expected = []
        for _ in range(3):
            expected.append(sorted(islice(iter(alone), GLOBAL)))
            alone.advance(GLOBAL)
        assert together == expected
        states = [micro.sampler.state_dict() for micro in each]
        assert all(one == states[0] for one in states)
        state = states[0]


def test_a_step_is_done_again_when_it_was_left_half_way() -> None:
    """The position is that of its beginning until its last micro-batch is handed out."""
    micro = micro_batches(0, 2)
    loader: DataLoader[Any] = DataLoader(Ids(), batch_sampler=micro, generator=torch.Generator())
    batches = counted_batches(loader)
    first = [next(batches).tolist() for _ in range(2)]
    state = micro.sampler.state_dict()
    batches.close()
    assert state["position"] == 0
    again = steps(micro_batches(0, 2, state=state), 1)
    assert again[0][:4] == list(chain(*first))


def test_plan_is_refused_when_it_is_made_for_other_ranks() -> None:
    """The ranks would take samples of each other's."""
    with pytest.raises(ConfigError, match="made for 3 ranks and the sampler deals to 2"):
        micro_batches(0, 2, plan_accumulation(GLOBAL, 3, 2))


def test_another_global_batch_is_refused_when_nobody_has_accepted_it() -> None:
    """By what it was and is; nothing has been handed out yet."""
    micro = micro_batches(0, 2)
    steps(micro, 1)
    other = micro_batches(0, 2, plan_accumulation(12, 2, 2), micro.sampler.state_dict())
    with pytest.raises(ConfigError, match="global batch of 10 samples, the plan has 12: plan 10"):
        steps(other, 1)


def test_another_global_batch_is_logged_when_it_is_accepted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once, by rank 0; and never where it is the same."""
    caplog.set_level(logging.WARNING)
    state: dict[str, Json] | None = None
    said = []
    for ranks, rank in [(2, 0), (3, 1), (3, 0), (3, 0), (2, 0)]:
        plan = plan_accumulation(GLOBAL, ranks, 2, accept_other_batch=True)
        micro = micro_batches(rank, ranks, plan, state)
        steps(micro, 1)
        state = micro.sampler.state_dict() if rank == 0 else state
        said.append([record.args for record in caplog.records])
        caplog.clear()
    assert said == [[], [], [(10, 12)], [], [(12, 10)]]


def test_batch_on_every_rank_is_logged_when_it_has_changed_without_a_plan(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A script may accumulate by itself, so it goes on."""
    sampler = ResumableSampler(SIZE, rank=0, world_size=4)
    for ranks, told in [(4, []), (4, []), (3, [(16, 12)])]:
        other = ResumableSampler(SIZE, rank=0, world_size=ranks)
        other.load_state_dict(sampler.state_dict())
        loader: DataLoader[Any] = DataLoader(Ids(), 4, sampler=other, generator=torch.Generator())
        counted_batches(loader).close()
        assert [record.args for record in caplog.records] == told
        sampler = other


@pytest.mark.parametrize("position", [-1, None, "3", 2.5])
def test_position_is_refused_when_it_is_none(position: object) -> None:
    """It comes out of a file."""
    sampler = ResumableSampler(SIZE, rank=0, world_size=1)
    state: Any = sampler.state_dict() | {"position": position}
    with pytest.raises(StateError, match="no number of samples"):
        sampler.load_state_dict(state)
