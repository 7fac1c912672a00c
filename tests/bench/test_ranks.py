"""A bench's ranks: they meet, send their rounds, and never outlive the bench."""

import os
import signal
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from lab.ranks import Ranks

pytestmark = pytest.mark.ranks


def test_ranks_send_every_round_in_order_when_all_is_well() -> None:
    """Values arrive by round and by rank, and the ranks really share a world."""

    def work(send: Callable[[tuple[int, int, float]], None]) -> None:
        for number in range(3):
            total = torch.ones(1)
            dist.all_reduce(total)
            send((number, dist.get_rank(), total.item()))

    with Ranks(2, work) as ranks:
        rounds = list(ranks.rounds(3))
    assert rounds == [[(number, rank, 2.0) for rank in range(2)] for number in range(3)]


def test_ranks_are_ended_and_named_when_one_has_died() -> None:
    """The bench fails with the rank's number, and the one that would wait for ever is gone."""

    def work(send: Callable[[int], None]) -> None:
        send(os.getpid())
        if dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            signal.pause()

    pids: list[int] = []

    def read_on() -> None:
        with Ranks(2, work) as ranks:
            pids.extend(next(ranks.rounds(1)))
            ranks._receive(1)

    with pytest.raises(RuntimeError, match="rank 1 has died"):
        read_on()
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
