"""The scenario's changes reach the part that they are about, by the clock alone."""

import asyncio

import pytest

from tests.support.simulated_aws import Simulator, TurnedClock
from watcher.simulator.aws.changes import NoticeIssued, NoticeWithdrawn, SpotAction
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.aws.vocabulary import WORDS
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import MOST_FAULTS
from watcher.simulator.play import Play
from watcher.simulator.values import ScenarioError
from watcher.simulator.vocabulary import change_of

ITEM = "meta-data/instance-id"
ACTION = "meta-data/spot/instance-action"


@pytest.fixture
def scenario() -> AwsScenario:
    """Everything that a scenario can do to the service, one thing after the other."""
    return AwsScenario(
        changes=(
            change_of(WORDS, "fault", {"kind": "status", "status": 503, "for_s": 10}, 10),
            change_of(WORDS, "fault", {"kind": "status", "status": 401, "count": 1}, 30),
            change_of(WORDS, "fault", {"kind": "expire_tokens"}, 40),
            change_of(WORDS, "metadata_options", {"http_endpoint": "disabled"}, 50),
            change_of(WORDS, "metadata_options", {"http_endpoint": "enabled"}, 60),
            change_of(WORDS, "fault", {"kind": "garbage"}, 70),
            change_of(WORDS, "lift_faults", {}, 80),
            change_of(WORDS, "asg", {"target_state": "Terminated"}, 90),
        )
    )


async def test_scenario_does_to_the_service_what_it_says(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """Status of one item as time goes by; the token is minted anew when it has expired."""
    seen = []
    for _ in range(9):
        clock.turn(10)
        statuses = [(await simulator.get(ITEM)).status for _ in range(2)]
        if clock.scenario.elapsed_s() == 40:
            simulator.token = (await simulator.mint()).body
        seen.append(statuses)
    expected = [503, 200, (401, 200), 401, 403, 200, 200, 200, 200]
    assert seen == [list(one) if isinstance(one, tuple) else [one] * 2 for one in expected]
    state = await simulator.get("meta-data/autoscaling/target-lifecycle-state")
    assert state.body == "Terminated"


def test_fault_is_over_when_nobody_asked_while_it_lasted(
    scenario: AwsScenario, clock: TurnedClock
) -> None:
    """Ten seconds from its moment on, not from the next request on."""
    play = Play(scenario, clock.scenario)
    clock.turn(25)
    play.catch_up()
    assert play.faults.take("/latest/x") is None


def test_change_by_hand_comes_after_those_that_are_due(clock: TurnedClock) -> None:
    """A tester's notice replaces the scenario's of a moment ago, not the other way round."""
    issued = NoticeIssued(at_s=10, action=SpotAction.TERMINATE, window_s=120)
    play = Play(AwsScenario(changes=(issued,)), clock.scenario)
    clock.turn(10)
    play.apply(NoticeIssued(at_s=10, action=SpotAction.STOP, window_s=120))
    assert play.stage.in_force()["notice"] == {"action": "stop", "time": "2026-11-30T11:02:10Z"}


def test_withdrawal_by_hand_is_refused_when_no_notice_is_in_force(clock: TurnedClock) -> None:
    """A tester who withdraws too early learns it at once; a scenario's withdrawal passes."""
    issued = NoticeIssued(at_s=10, action=SpotAction.TERMINATE, window_s=120)
    scenario = AwsScenario(changes=(issued, NoticeWithdrawn(at_s=20)))
    play = Play(scenario, clock.scenario)
    with pytest.raises(ScenarioError, match="none to withdraw"):
        play.apply(NoticeWithdrawn(at_s=0))
    clock.turn(10)
    play.apply(NoticeWithdrawn(at_s=10))
    assert play.stage.in_force()["notice"] is None
    clock.turn(10)
    play.catch_up()
    assert play.stage.in_force()["notice"] is None


def test_faults_by_hand_are_refused_when_there_is_no_room(clock: TurnedClock) -> None:
    """All of a script or none of it."""
    play = Play(AwsScenario(), clock.scenario)
    answers = [{"kind": "hang"}] * MOST_FAULTS
    script = change_of(WORDS, "script", {"path_prefix": "/latest/", "answers": answers}, 0)
    play.apply(change_of(WORDS, "fault", {"kind": "reset", "count": 1}, 0))
    with pytest.raises(ScenarioError, match="lift those"):
        play.apply(script)
    assert play.faults.take("/latest/x") is not None
    play.apply(script)


async def test_scenario_goes_on_by_itself_when_nobody_asks() -> None:
    """Whoever waits for a change is told at its moment, not at the next request."""
    changes = (change_of(WORDS, "rebalance", {}, 0.02), change_of(WORDS, "notice", {}, 0.01))
    clock = ScenarioClock()
    play = Play(AwsScenario(changes=changes), clock)
    clock.start()
    await play.run()
    assert None not in (
        play.stage.in_force()["notice"],
        play.stage.in_force()["rebalance_notice_time"],
    )


async def test_slow_answer_tells_what_is_true_when_it_is_given(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """A change that falls due while the client waits is in the answer."""
    path = "meta-data/autoscaling/target-lifecycle-state"
    clock.turn(89)
    slow = {"kind": "slow", "delay_s": 1.5, "path_prefix": f"/latest/{path}"}
    await simulator.control("POST", "fault", slow)
    simulator.token = (await simulator.mint()).body
    asking = asyncio.create_task(simulator.get(path))
    await simulator.fault_met()
    clock.turn(1)
    assert (await asking).status == 200
