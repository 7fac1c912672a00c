"""Own time: it ends with the first gradient in DDP and with the first forward in FSDP."""

from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from tests.support.clocks import Seconds
from trainer_hooks.health.own_time import (
    LONG_S,
    WAIT_EVERY_STEPS,
    OwnTime,
    Seen,
    StepTime,
    early_times,
)


class Slow(nn.Module):
    """A layer whose forward takes 2 s of the clock."""

    def __init__(self, clock: Seconds) -> None:
        super().__init__()
        self.clock = clock
        self.first = nn.Linear(4, 4)
        self.last = nn.Linear(4, 4)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return as many numbers."""
        self.clock.pass_s(2.0)
        return self.last(self.first(inputs))  # type: ignore[no-any-return]  # torch's modules return Any


@pytest.fixture
def world() -> Iterator[None]:
    """A process group of one rank."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def step(own: OwnTime, clock: Seconds, model: nn.Module) -> None:
    """Wait 1 s for data, train, and take 4 s over the optimizer."""
    own.begin()
    clock.pass_s(1.0)
    model(torch.rand(2, 4)).sum().backward()
    clock.pass_s(4.0)
    own.end()


@pytest.mark.usefixtures("world")
def test_own_time_ends_with_the_first_gradient_when_ddp_wraps_the_model() -> None:
    """In every step; and one hook is left once it is known whose gradient comes first."""
    clock = Seconds()
    model = DistributedDataParallel(Slow(clock))
    own = OwnTime(model, clock)
    assert own.seen is Seen.GRADIENT
    for _ in range(3):
        step(own, clock, model)
    assert early_times(own.take()) == [StepTime(own_s=3.0, step_s=7.0)] * 3
    assert own.take() == []
    assert len(own._handles) == 1
    own.close()
    step(own, clock, model)
    assert own.take() == []


@pytest.mark.usefixtures("world")
def test_own_time_ends_with_the_forward_when_fsdp_wraps_the_model() -> None:
    """The outermost module's: it gathers its parameters there."""
    clock = Seconds()
    model = Slow(clock)
    mesh = init_device_mesh("cpu", (1,))
    fully_shard(model.first, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.register_forward_pre_hook(lambda *_: clock.pass_s(5.0))  # as FSDP's own, which gathers
    own = OwnTime(model, clock)
    assert own.seen is Seen.FORWARD
    step(own, clock, model)
    assert early_times(own.take()) == [StepTime(own_s=1.0, step_s=12.0)]


def test_nothing_is_seen_when_nobody_wraps_the_model() -> None:
    """And nothing is measured."""
    clock = Seconds()
    model = Slow(clock)
    own = OwnTime(model, clock)
    assert own.seen is Seen.NOTHING
    step(own, clock, model)
    assert own.take() == []


@pytest.mark.usefixtures("world")
def test_backward_before_the_first_step_is_no_step_when_it_is_thrown_away() -> None:
    """As the README advises for more than two ranks."""
    clock = Seconds()
    model = DistributedDataParallel(Slow(clock))
    own = OwnTime(model, clock)
    model(torch.rand(2, 4)).sum().backward()
    clock.pass_s(50.0)
    step(own, clock, model)
    assert early_times(own.take()) == [StepTime(own_s=3.0, step_s=7.0)]


@pytest.mark.usefixtures("world")
def test_wait_is_left_out_of_every_step_when_steps_are_long() -> None:
    """From the second on; a world of one waits for nobody."""
    clock = Seconds()
    model = DistributedDataParallel(Slow(clock))
    own = OwnTime(model, clock)
    assert own.is_wait_seen
    for _ in range(5):
        step(own, clock, model)
    assert own.take_without_wait(5) == []
    assert own.take_without_wait(4) == [StepTime(own_s=7.0, step_s=7.0)] * 4
    assert own.take_without_wait(1) == []


@pytest.mark.usefixtures("world")
def test_wait_is_left_out_of_one_step_in_so_many_when_steps_are_short() -> None:
    """And of the next one, as soon as one is long."""
    clock = Seconds()
    model = DistributedDataParallel(nn.Linear(4, 4))
    own = OwnTime(model, clock)

    def steps(number: int, seconds: float) -> None:
        for _ in range(number):
            own.begin()
            model(torch.rand(2, 4)).sum().backward()
            clock.pass_s(seconds)
            own.end()

    steps(2 * WAIT_EVERY_STEPS, LONG_S / 2)
    assert len(own.take_without_wait(1)) == 1
    steps(1, LONG_S / 2)
    assert len(own.take_without_wait(1)) == 1
    steps(1, LONG_S)
    assert own.take_without_wait(1) == []
    steps(1, LONG_S / 2)
    assert len(own.take_without_wait(1)) == 1
