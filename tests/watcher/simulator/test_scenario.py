"""The scenario refuses what can't happen."""

import math

import pytest

from watcher.simulator.scenario import (
    Change,
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    Scenario,
    ScenarioError,
    SpotAction,
    seconds,
    spot_action,
)


def issued(at_s: float) -> NoticeIssued:
    return NoticeIssued(at_s=at_s, action=SpotAction.STOP, window_s=120)


@pytest.mark.parametrize("value", [-1, -0.001, math.nan, math.inf, 1e300, True, None, "5", [5]])
def test_seconds_are_refused_when_no_length_of_time(value: object) -> None:
    """Only numbers from 0 to a year are seconds, and the message says what was meant by them."""
    with pytest.raises(ScenarioError, match="the window must be"):
        seconds("the window", value)


def test_change_is_refused_when_its_time_is_negative() -> None:
    """Each kind of change checks its own times."""
    with pytest.raises(ScenarioError, match="notice's moment"):
        issued(-1)
    with pytest.raises(ScenarioError, match="notice's window"):
        NoticeIssued(at_s=0, action=SpotAction.STOP, window_s=-1)
    with pytest.raises(ScenarioError, match="withdrawal's moment"):
        NoticeWithdrawn(at_s=-1)
    with pytest.raises(ScenarioError, match="rebalance"):
        RebalanceRecommended(at_s=-1)


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
        Scenario(changes=changes)


def test_scenario_puts_changes_in_order_when_given_in_another() -> None:
    """A second notice after a withdrawal is fine, and the timeline is sorted."""
    withdrawn, first, second = NoticeWithdrawn(at_s=20), issued(10), issued(30)
    scenario = Scenario(changes=(withdrawn, second, first))
    assert scenario.timeline() == [first, withdrawn, second]


@pytest.mark.parametrize("cap_s", [0, -1, 21_601])
def test_scenario_is_refused_when_the_token_cap_is_out_of_range(cap_s: int) -> None:
    """EC2 grants tokens 1 to 21600 s."""
    with pytest.raises(ScenarioError, match="tokens live"):
        Scenario(token_ttl_cap_s=cap_s)


@pytest.mark.parametrize("instance_id", ["", "  ", "i-1\n"])
def test_scenario_is_refused_when_the_instance_id_is_no_text(instance_id: str) -> None:
    """An id that would break a line-based answer is a mistake."""
    with pytest.raises(ScenarioError, match="instance id"):
        Scenario(instance_id=instance_id)


@pytest.mark.parametrize("name", ["terminated", "", "TERMINATE", None, 3])
def test_spot_action_is_refused_when_ec2_has_no_such_action(name: object) -> None:
    """The message lists the actions that exist."""
    with pytest.raises(ScenarioError, match="terminate, stop, hibernate"):
        spot_action(name)


def test_window_is_nothing_when_the_action_is_hibernate() -> None:
    """Hibernation starts with the notice; the others leave two minutes."""
    windows = {action.value: action.window_s for action in SpotAction}
    assert windows == {"terminate": 120, "stop": 120, "hibernate": 0}
