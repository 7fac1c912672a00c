"""When a run saves, over real starts in a world of one; the ranks' own test is in tests/ranks."""

import logging
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.flags import remove_flag
from tests.support.node import Node, at
from tests.support.training import Run
from trainer_hooks import AutoInterval
from trainer_hooks.cadence import EverySteps, OwnCadence
from trainer_hooks.checkpoint.latest import committed
from trainer_hooks.waste.lineage import read_ledger

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

EAGER = AutoInterval(prior_mtbi_s=2.0, first_steps=3)
"""Of a pool so poor that saves follow each other closely."""


def intervals(root: Path) -> dict[int, int]:
    """Return the interval in force after each checkpoint, by its step."""
    found = {one.step: one.marker.save_every_steps for one in committed(root)}
    return dict(sorted(found.items()))


def test_multiples_are_due_when_a_number_is_set() -> None:
    """Whatever was saved in between."""
    cadence = EverySteps(4)
    cadence.resume(6, 4, 1.0)
    assert [step for step in range(13) if cadence.is_due(step)] == [4, 8, 12]
    assert cadence.choose(None) == 4


def test_interval_counts_from_the_last_save_when_a_run_has_its_own() -> None:
    """And by what all ranks have agreed on, on a rank that chooses nothing."""
    cadence = OwnCadence(5, 20, None)
    cadence.begin(20)
    assert [step for step in range(20, 30) if cadence.is_due(step)] == [25, 26, 27, 28, 29]
    cadence.reach(22)
    assert cadence.choose(None) == 5
    cadence.resume(22, 3, 0.1)
    assert cadence.every_steps == 3
    assert [step for step in range(22, 27) if cadence.is_due(step)] == [25, 26]


def test_run_chooses_its_interval_when_it_is_to(node: Node) -> None:
    """The first two as they are assumed, every later one as the save before it says."""
    assert node.train(Run(), until=200, save_every=EAGER).is_finished
    found = intervals(node.checkpoints)
    steps = [0, *found]
    assert steps[1:3] == [3, 6]
    for (before, step), every in zip(pairwise(steps[1:-1]), found.values(), strict=False):
        assert step - before == every
    assert len({*found.values()}) > 1
    (attempt,) = read_ledger(node.checkpoints)
    assert all(0 <= save.waited_s <= save.ended - save.began for save in attempt.saves)


def test_next_save_is_one_interval_on_when_a_run_is_resumed(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """The marker holds what was in force, and a preemption may have made a shorter one better."""
    notice = at(20, node.settled_notice)
    assert node.train(Run(), until=200, save_every=EAGER, in_step=notice).is_preempted
    before = intervals(node.checkpoints)
    remove_flag(node.run_dir)
    with caplog.at_level(logging.INFO):
        node.train(Run(), until=400, save_every=EAGER)
    resumed, every = max(before.items())
    assert resumed == 21  # the emergency save
    chosen = re.search(r"save_every=(\d+) was=(\d+)", caplog.text)
    assert chosen is not None
    assert int(chosen[2]) == every
    following = min(step for step in intervals(node.checkpoints) if step > resumed)
    assert following == min(resumed + int(chosen[1]), 400)


def test_next_save_is_one_interval_on_when_advice_has_brought_one_forward(node: Node) -> None:
    """No two saves in a row for nothing."""
    advice = at(1, lambda: node.notice(urgency="advisory"))
    rare = AutoInterval(first_steps=50)
    node.train(Run(), until=60, save_every=rare, in_step=advice)
    assert [*intervals(node.checkpoints)] == [2, 52, 60]
