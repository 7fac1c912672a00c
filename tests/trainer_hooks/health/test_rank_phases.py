"""Phases of all ranks: told by each, read by the first of each node, and by rank 0 of all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
import torch.distributed as dist

from trainer_hooks.health.desk import Desk
from trainer_hooks.health.rank_phases import RankPhases
from trainer_hooks.phases import PhaseTimes
from trainer_hooks.world import World

SIZE = 4
"""Ranks, two on each node."""


def spent(rank: int, steps: int = 5) -> PhaseTimes:
    """Return what a rank has spent."""
    return PhaseTimes(steps=steps, data_s=None, compute_s=float(rank), save_s=0.5)


@dataclass
class Rank:
    """A rank's part, with a desk that nobody sits at."""

    phases: RankPhases
    desk: Desk
    heard: list[tuple[Sequence[PhaseTimes], Sequence[PhaseTimes]]] = field(default_factory=list)

    def look(self) -> None:
        """Do what the desk's thread does now and then."""
        self.phases.look(self.desk)


@pytest.fixture
def ranks(monkeypatch: pytest.MonkeyPatch) -> list[Rank]:
    """Return ranks that share a Store in memory."""
    store = dist.HashStore()
    store.set_timeout(timedelta(seconds=10))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    made = []
    for number in range(SIZE):
        monkeypatch.setenv("LOCAL_RANK", str(number % 2))
        world = World(rank=number, size=SIZE, store=store, group=None)  # type: ignore[arg-type]  # torch's stubs lack half of a Store
        heard: list[tuple[Sequence[PhaseTimes], Sequence[PhaseTimes]]] = []

        def note(
            here: Sequence[PhaseTimes],
            everywhere: Sequence[PhaseTimes],
            heard: list[tuple[Sequence[PhaseTimes], Sequence[PhaseTimes]]] = heard,
        ) -> None:
            heard.append((here, everywhere))

        phases = RankPhases(lambda number=number: spent(number), note)  # type: ignore[misc]  # a default binds the rank
        made.append(Rank(phases, Desk(world, lambda _: None), heard))
    return made


def test_nodes_hear_of_their_own_ranks_and_rank_0_of_all_when_all_have_told(
    ranks: list[Rank],
) -> None:
    """Nobody waits for who has not told yet."""
    for rank in ranks:
        rank.look()
    assert [rank.heard for rank in ranks] == [[], [], [], []]
    for rank in ranks:
        rank.look()
    every = [spent(number) for number in range(SIZE)]
    assert ranks[0].heard == [(every[:2], every)]
    assert ranks[2].heard == [(every[2:], ())]
    assert ranks[1].heard == ranks[3].heard == []


def test_rank_tells_nothing_when_it_has_finished_no_step(ranks: list[Rank]) -> None:
    """So that nobody takes its zeros for fast steps."""
    ranks[0].phases._own = lambda: spent(0, steps=0)
    for _ in range(2):
        for rank in ranks:
            rank.look()
    assert [rank.heard for rank in ranks] == [[], [], [], []]
