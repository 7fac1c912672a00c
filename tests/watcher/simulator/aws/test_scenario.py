"""The scenario refuses what can't happen."""

import math

import pytest

from watcher.simulator.aws.changes import (
    EventEnd,
    MaintenanceEnded,
    MaintenanceScheduled,
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    SpotAction,
)
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.changes import Change
from watcher.simulator.values import ScenarioError


def issued(at_s: float) -> NoticeIssued:
    return NoticeIssued(at_s=at_s, action=SpotAction.STOP, window_s=120)


def scheduled(at_s: float) -> MaintenanceScheduled:
    return MaintenanceScheduled(
        at_s=at_s, event_id="e-1", code="instance-stop", description="x", not_before_s=0
    )


def ended(at_s: float) -> MaintenanceEnded:
    return MaintenanceEnded(at_s=at_s, event_id="e-1", state=EventEnd.COMPLETED)


@pytest.mark.parametrize("at_s", [-1, math.nan, math.inf])
def test_scenario_is_refused_when_a_moment_is_no_time(at_s: float) -> None:
    """Whatever the change, it happens between the start and a year later."""
    with pytest.raises(ScenarioError, match="moment of a change"):
        AwsScenario(changes=(RebalanceRecommended(at_s=at_s),))


@pytest.mark.parametrize(
    "changes",
    [
        (NoticeWithdrawn(at_s=5),),
        (issued(10), NoticeWithdrawn(at_s=5)),
        (issued(10), NoticeWithdrawn(at_s=10)),
        (issued(10), NoticeWithdrawn(at_s=20), NoticeWithdrawn(at_s=30)),
        (RebalanceRecommended(at_s=1), NoticeWithdrawn(at_s=5)),
    ],
)
def test_scenario_is_refused_when_a_withdrawal_finds_no_notice(changes: tuple[Change, ...]) -> None:
    """A withdrawal needs a notice strictly before it, whatever order the changes are given in."""
    with pytest.raises(ScenarioError, match="none to withdraw"):
        AwsScenario(changes=changes)


@pytest.mark.parametrize(
    "changes",
    [(ended(5),), (scheduled(10), ended(5)), (scheduled(1), ended(2), ended(3))],
)
def test_scenario_is_refused_when_an_end_finds_no_event(changes: tuple[Change, ...]) -> None:
    """A scheduled event ends once, after it was announced."""
    with pytest.raises(ScenarioError, match=r"no maintenance e-1 before . s, so none to end"):
        AwsScenario(changes=changes)


def test_scenario_puts_changes_in_order_when_given_in_another() -> None:
    """A second notice after a withdrawal is fine, and the timeline is sorted."""
    withdrawn, first, second = NoticeWithdrawn(at_s=20), issued(10), issued(30)
    scenario = AwsScenario(changes=(withdrawn, second, first))
    assert scenario.timeline() == [first, withdrawn, second]


@pytest.mark.parametrize("cap_s", [0, -1, 21_601])
def test_scenario_is_refused_when_the_token_cap_is_out_of_range(cap_s: int) -> None:
    """EC2 grants tokens 1 to 21600 s."""
    with pytest.raises(ScenarioError, match="life of tokens"):
        AwsScenario(token_ttl_cap_s=cap_s)


@pytest.mark.parametrize("instance_id", ["", "  ", "i-1\n"])
def test_scenario_is_refused_when_the_instance_id_is_no_text(instance_id: str) -> None:
    """An id that would break a line-based answer is a mistake."""
    with pytest.raises(ScenarioError, match="instance id"):
        AwsScenario(instance_id=instance_id)
