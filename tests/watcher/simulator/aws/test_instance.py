"""The simulated instance tells what its changes have made of it."""

import pytest

from tests.support.simulated_aws import TurnedClock
from watcher.simulator.aws.changes import NoticeIssued, RebalanceRecommended, SpotAction
from watcher.simulator.aws.instance import Instance
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.play import Play


@pytest.fixture
def play(scenario: AwsScenario, clock: TurnedClock) -> Play:
    return Play(scenario, clock.scenario)


def time_told(play: Play) -> str | None:
    """Return the time of the notice in force, as a client would see it."""
    play.catch_up()
    mark = play.stage.in_force()["notice"]
    return str(mark["time"]) if isinstance(mark, dict) else None


def test_instance_is_unmarked_when_the_notice_is_not_due(play: Play, clock: TurnedClock) -> None:
    """Just before its second there is no notice; on it there is."""
    clock.turn(9.999)
    assert time_told(play) is None
    clock.turn(0.001)
    assert time_told(play) is not None


def test_notice_time_stays_fixed_when_asked_again(play: Play, clock: TurnedClock) -> None:
    """The deadline comes nearer: `time` is issue + window, cut to whole seconds, at every look."""
    clock.turn(10)
    first = time_told(play)
    clock.turn(17.5)
    assert time_told(play) == first == "2026-11-30T11:02:10Z"


def test_notice_time_counts_from_issue_when_first_seen_late(play: Play, clock: TurnedClock) -> None:
    """A client that looks late has less time left, not a later deadline."""
    clock.turn(50)
    assert time_told(play) == "2026-11-30T11:02:10Z"


def test_rebalance_survives_when_the_notice_is_withdrawn(play: Play, clock: TurnedClock) -> None:
    """A withdrawal clears the mark alone, and the recommendation keeps its first time."""
    clock.turn(5)
    play.catch_up()
    first = play.stage.in_force()["rebalance_notice_time"]
    clock.turn(55)
    assert time_told(play) is None
    assert play.stage.in_force()["rebalance_notice_time"] == first == "2026-11-30T11:00:05Z"


@pytest.fixture
def instance(clock: TurnedClock) -> Instance:
    return Instance(clock.scenario)


def issued(**fields: float) -> NoticeIssued:
    return NoticeIssued(
        at_s=0,
        action=SpotAction.TERMINATE,
        window_s=120,
        ago_s=fields.get("ago_s", 0),
        is_sliding=bool(fields.get("is_sliding")),
    )


def mark_time(instance: Instance) -> str:
    mark = instance.mark()
    assert mark is not None
    return mark.time


def test_notice_stays_when_its_time_has_passed(instance: Instance, clock: TurnedClock) -> None:
    """EC2 may fail to end the instance: the notice then stays, in the past."""
    instance.apply(issued())
    clock.turn(1000)
    assert mark_time(instance) == "2026-11-30T11:02:00Z"


def test_deadline_lies_in_the_past_when_the_notice_is_old(instance: Instance) -> None:
    """A client that starts late meets a notice whose time is over."""
    instance.apply(issued(ago_s=300))
    assert mark_time(instance) == "2026-11-30T10:57:00Z"


def test_times_slide_when_told_to(instance: Instance, clock: TurnedClock) -> None:
    """As in the mocks: the deadline never comes nearer, and the advice is always new."""
    instance.apply(issued(is_sliding=True))
    instance.apply(RebalanceRecommended(at_s=0, is_sliding=True))
    told = []
    for _ in range(2):
        told.append((mark_time(instance), instance.rebalance_time()))
        clock.turn(10)
    assert told == [
        ("2026-11-30T11:02:00Z", "2026-11-30T11:00:00Z"),
        ("2026-11-30T11:02:10Z", "2026-11-30T11:00:10Z"),
    ]
