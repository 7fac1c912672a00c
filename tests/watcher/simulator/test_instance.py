"""The simulated instance goes through its changes by the clock alone."""

import pytest

from tests.support.simulated_aws import TurnedClock
from watcher.simulator.instance import Instance
from watcher.simulator.scenario import (
    NoticeIssued,
    NoticeWithdrawn,
    Scenario,
    ScenarioError,
    SpotAction,
)


@pytest.fixture
def instance(scenario: Scenario, clock: TurnedClock) -> Instance:
    return Instance(scenario, clock.scenario)


def test_instance_is_unmarked_when_the_notice_is_not_due(
    instance: Instance, clock: TurnedClock
) -> None:
    """Just before its second there is no notice; on it there is."""
    clock.turn(9.999)
    assert instance.mark() is None
    clock.turn(0.001)
    assert instance.mark() is not None


def test_notice_time_stays_fixed_when_asked_again(instance: Instance, clock: TurnedClock) -> None:
    """The deadline comes nearer: `time` is issue + window, cut to whole seconds, at every look."""
    clock.turn(10)
    first = instance.mark()
    clock.turn(17.5)
    assert first == instance.mark()
    assert first is not None
    assert first.time == "2026-11-30T11:02:10Z"


def test_notice_time_counts_from_issue_when_first_seen_late(
    instance: Instance, clock: TurnedClock
) -> None:
    """A client that looks late has less time left, not a later deadline."""
    clock.turn(50)
    mark = instance.mark()
    assert mark is not None
    assert mark.time == "2026-11-30T11:02:10Z"


def test_notice_stays_when_its_time_has_passed(clock: TurnedClock) -> None:
    """EC2 may fail to end the instance: the notice then stays, in the past."""
    issued = NoticeIssued(at_s=1, action=SpotAction.TERMINATE, window_s=2)
    instance = Instance(Scenario(changes=(issued,)), clock.scenario)
    clock.turn(1000)
    mark = instance.mark()
    assert mark is not None
    assert mark.time == "2026-11-30T11:00:03Z"


def test_rebalance_survives_when_the_notice_is_withdrawn(
    instance: Instance, clock: TurnedClock
) -> None:
    """A withdrawal clears the mark alone, and the recommendation keeps its first time."""
    clock.turn(5)
    first = instance.rebalance_time()
    clock.turn(55)
    assert instance.mark() is None
    assert instance.rebalance_time() == first == "2026-11-30T11:00:05Z"


def test_withdrawal_is_refused_when_no_notice_is_in_force(
    instance: Instance, clock: TurnedClock
) -> None:
    """A tester who withdraws too early learns it at once."""
    with pytest.raises(ScenarioError, match="none to withdraw"):
        instance.apply(NoticeWithdrawn(at_s=0))
    clock.turn(10)
    instance.apply(NoticeWithdrawn(at_s=10))
    assert instance.mark() is None
