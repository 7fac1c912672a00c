"""What a run tells the watcher on its way: running, stopping, saved, exited."""

import json
from typing import Any

import pytest

from tests.support.node import Node, at
from tests.support.training import Run
from tests.support.waiting import wait_until
from trainer_hooks.decision import Decision, Outcome, Position
from trainer_hooks.leave import Departure
from trainer_hooks.pace import Pace
from trainer_hooks.recorder import Recorder
from trainer_hooks.report import Report
from trainer_hooks.status import Progress
from trainer_hooks.telling import Witnesses, progress_of
from trainer_hooks.waste.account import Kind, account, timeline
from trainer_hooks.waste.lineage import read_ledger

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def words(node: Node) -> dict[str, Any]:
    """Return what the trainer says."""
    (path,) = (node.run_dir / "trainers").glob("*.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_watcher_is_told_that_all_is_saved_before_the_trainer_leaves(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the barrier, that is: from then on its pod may go. Before that it is stopping."""
    (node.run_dir / "trainers").mkdir()
    states = []

    def noticed() -> None:
        states.append(words(node)["state"])
        node.settled_notice()
        wait_until(lambda: words(node)["state"] == "stopping")
        assert words(node)["stop_step"] == 5

    leave = Departure.barrier

    def at_the_barrier(departure: Departure, left_s: float | None) -> None:
        wait_until(lambda: words(node)["state"] == "saved")
        states.append(words(node)["committed_step"])
        leave(departure, left_s)

    monkeypatch.setattr(Departure, "barrier", at_the_barrier)
    node.train(Run(), in_step=at(4, noticed))
    assert states == ["running", 5]
    last = words(node)
    assert (last["state"], last["step"], last["stop_step"]) == ("exited", 5, 5)
    assert last["committed_at"].endswith("Z")
    assert last["stall_s"] > 0
    assert last["commit_lag_s"] > 0
    assert (last["attempt"], last["save_every_steps"]) == (1, 3)
    assert last["step_s"] > 0
    assert last["noticed_at"] <= last["stopped_at"] <= last["committed_at"]
    assert last["verified_at"] is None, "it has resumed from nothing"


def test_watcher_is_told_what_a_run_has_cost_in_all_its_attempts(node: Node) -> None:
    """Steps that were done again count as paid, and only once as productive."""
    (node.run_dir / "trainers").mkdir()
    with pytest.raises(ZeroDivisionError):
        node.train(Run(), until=9, in_step=at(5, lambda: 1 / 0))
    node.train(Run(), until=9, in_step=at(8, lambda: wait_until(lambda: words(node)["paid_gpu_s"])))
    last = words(node)
    assert last["attempt"] == 2
    assert last["verified_at"].endswith("Z")
    accounts = account(timeline(read_ledger(node.checkpoints)))
    assert accounts.kinds[Kind.REWORK] > 0
    assert last["productive_gpu_s"] == pytest.approx(accounts.kinds[Kind.PRODUCTIVE], rel=0.5)
    assert last["paid_gpu_s"] >= accounts.paid - 1


@pytest.mark.parametrize(
    ("stop", "stop_step"),
    [
        (None, None),
        (Decision(outcome=Outcome.END, last=Position(3)), None),
        (Decision(outcome=Outcome.STOP, last=Position(7)), 8),
        (Decision(outcome=Outcome.STOP, last=Position.just_before(8)), 8),
        (Decision(outcome=Outcome.STOP, last=Position(-2)), 7),
        (Decision(outcome=Outcome.STOP), 7),
    ],
)
def test_run_stops_at_the_end_of_the_furthest_step_that_was_begun(
    stop: Decision | None, stop_step: int | None
) -> None:
    """And one that goes on to its end does not stop at all."""
    witnesses = Witnesses(Pace(), Report(), Recorder())
    assert progress_of(7, None, stop, witnesses) == Progress(step=7, stop_step=stop_step)
