"""The wait inside collectives: what lies between the gradients and the end of the backward."""

import pytest
import torch
from torch import nn
from torch.autograd.variable import Variable

from tests.support.clocks import Seconds
from trainer_hooks.health.collective_wait import CollectiveWait, is_wait_seen


@pytest.mark.parametrize("backwards", [1, 2])
def test_wait_is_what_ddp_waits_for_when_all_gradients_are_there(backwards: int) -> None:
    """Not what the gradients take; of all backwards of the step."""
    clock = Seconds()
    wait = CollectiveWait(clock)
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))

    def be_ddp(_: torch.Tensor) -> None:
        clock.pass_s(5.0)
        Variable._execution_engine.queue_callback(lambda: clock.pass_s(2.0))

    first, *_, last = model.parameters()
    last.register_post_accumulate_grad_hook(lambda _: wait.watch())  # type: ignore[no-untyped-call]  # torch has not typed it
    first.register_post_accumulate_grad_hook(be_ddp)  # type: ignore[no-untyped-call]  # likewise
    for _ in range(backwards):
        model(torch.rand(3, 2)).sum().backward()
    assert wait.waited_s == 2.0 * backwards


def test_wait_is_not_seen_when_a_device_waits_instead_of_the_host() -> None:
    """The host only queues it there."""
    assert is_wait_seen(nn.Linear(2, 2))
    assert not is_wait_seen(nn.Linear(2, 2, device="meta"))
