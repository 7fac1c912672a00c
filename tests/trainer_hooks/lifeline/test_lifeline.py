"""Lifelines of ranks that share a Store: opened, closed, and said where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from torch.distributed import HashStore

from tests.support.waiting import wait_until
from trainer_hooks.lifeline import lifeline
from trainer_hooks.lifeline.hub import Hub
from trainer_hooks.lifeline.lifeline import Lifeline
from trainer_hooks.world import Store, World

SIZE = 3


class Ranks:
    """A lifeline for each."""

    def __init__(self) -> None:
        store = cast("Store", HashStore())
        self.lost: list[str] = []
        worlds = [World(rank=rank, size=SIZE, store=store, group=None) for rank in range(SIZE)]
        self.lines = [Lifeline(world, self.lost.append, lost_s=1) for world in worlds]

    @property
    def hub(self) -> Hub:
        """Rank 0's end."""
        end = self.lines[0]._end
        assert isinstance(end, Hub)
        return end


@contextmanager
def ranks() -> Iterator[Ranks]:
    """Open the lines of all, the last rank's first; close them in order in the end."""
    some = Ranks()
    for line in reversed(some.lines):
        line.start()
    yield some
    for line in some.lines:
        line.close(is_orderly=True)
    assert not any(line._thread and line._thread.is_alive() for line in some.lines)


def test_nobody_is_missed_when_all_leave_in_order() -> None:
    """By whatever address they have reached rank 0, and whoever came first."""
    with ranks() as some:
        wait_until(lambda: some.lines[0]._end and len(some.hub._lines) == SIZE - 1)
    assert some.lost == []


def test_rank_is_missed_by_all_when_it_fails() -> None:
    """It closes its line without a word; that it is closed once more in order changes nothing."""
    with ranks() as some:
        wait_until(lambda: some.lines[0]._end and len(some.hub._lines) == SIZE - 1)
        some.lines[1].close(is_orderly=False)
        some.lines[1].close(is_orderly=True)
        wait_until(lambda: len(some.lost) == 2)
        assert all(said.startswith("rank 1 is lost") for said in some.lost)


def test_it_is_said_when_rank_0_is_not_reached(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Training goes on; only the time-outs are left."""
    monkeypatch.setattr(lifeline, "own_addresses", lambda: ["127.0.0.1.nowhere.invalid"])
    with ranks() as some:
        wait_until(lambda: caplog.text.count("watches over no other machine") == SIZE - 1)
    assert some.lost == []


def test_nothing_is_opened_when_a_rank_is_alone() -> None:
    """There is nobody to lose."""
    line = Lifeline(World.connect(), pytest.fail)
    line.start()
    assert line._thread is None
    line.close(is_orderly=True)
    assert line.is_closed
