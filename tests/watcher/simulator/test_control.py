"""The control path does what it says at once, and says why when it doesn't."""

import json

import pytest

from tests.support.simulated_aws import Simulator, TurnedClock
from watcher.simulator.aws.scenario import AwsScenario

ACTION = "meta-data/spot/instance-action"


@pytest.fixture
def scenario() -> AwsScenario:
    """Nothing happens by itself."""
    return AwsScenario()


async def test_notice_is_in_force_at_once_when_posted(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """Action and window are those of the message, and the answer is what the cloud would say."""
    clock.turn(3)
    answer = await simulator.control("POST", "notice", {"window_s": 30, "action": "stop"})
    assert answer["notice"] == {"action": "stop", "time": "2026-11-30T11:00:33Z"}
    assert json.loads((await simulator.get(ACTION)).body) == answer["notice"]


@pytest.mark.parametrize(
    ("fields", "time"),
    [
        (None, "2026-11-30T11:02:00Z"),
        ({}, "2026-11-30T11:02:00Z"),
        ({"action": "hibernate"}, "2026-11-30T11:00:00Z"),
    ],
)
async def test_notice_has_the_clouds_window_when_none_is_given(
    simulator: Simulator, fields: object, time: str
) -> None:
    """Two minutes, nothing for hibernation; no body at all is fine."""
    answer = await simulator.control("POST", "notice", fields)
    assert isinstance(answer["notice"], dict)
    assert answer["notice"]["time"] == time


async def test_notice_replaces_the_earlier_one_when_posted_again(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """The instance has one mark, the last."""
    await simulator.control("POST", "notice", {"window_s": 120})
    clock.turn(1)
    await simulator.control("POST", "notice", {"window_s": 30, "action": "stop"})
    body = (await simulator.get(ACTION)).body
    assert body == '{"action":"stop","time":"2026-11-30T11:00:31Z"}'


async def test_withdrawal_clears_the_notice_and_keeps_the_rebalance(simulator: Simulator) -> None:
    """200 becomes 404 on one item alone."""
    await simulator.control("POST", "notice")
    rebalance = await simulator.control("POST", "rebalance")
    answer = await simulator.control("POST", "withdraw")
    assert answer == {
        "notice": None,
        "rebalance_notice_time": rebalance["rebalance_notice_time"],
        "maintenance": [],
        "target_state": None,
    }
    assert (await simulator.get(ACTION)).status == 404
    assert (await simulator.get("meta-data/events/recommendations/rebalance")).status == 200


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("notice", b"{", "not JSON"),
        ("notice", b"\xff", "not JSON"),
        ("notice", b"[" * 4000, "not JSON"),
        ("notice", b"[]", "JSON object, not []"),
        ("notice", b'{"window": 5}', "unknown field 'window'; the nearest known one is window_s"),
        ("notice", b'{"window_s": -5}', "window_s must be 0 to"),
        ("notice", b'{"window_s": NaN}', "window_s must be 0 to"),
        ("notice", b'{"action": "explode"}', "the action must be one of"),
        ("rebalance", b'{"after": 5}', "unknown field 'after'; the nearest known one is sliding"),
        ("withdraw", b"", "none to withdraw"),
        ("maintenance_end", b'{"state": "canceled"}', "none to end; active: none"),
        ("asg", b"", "target_state must be printable text, not None"),
        ("metadata_options", b'{"hop_limit": 65}', "hop_limit must be a whole number from 1 to 64"),
        ("script", b'{"path_prefix": "/latest/", "answers": []}', "answers must be 1 to"),
        ("lift_faults", b'{"kind": "hang"}', "unknown field 'kind'; known: none"),
        ("fault", b'{"kind": "status", "code": 503}', "unknown field 'code'"),
        ("fault", b'{"kind": "explode"}', "kind must be one of"),
        ("fault", b'{"kind": "expire_tokens", "count": 3}', "takes no other field"),
    ],
)
async def test_control_says_why_when_it_refuses(
    simulator: Simulator, path: str, body: bytes, reason: str
) -> None:
    """400 with a reason, and nothing has changed."""
    assert reason in await simulator.refusal(path, body)
    assert (await simulator.get(ACTION)).status == 404


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "notice"), ("POST", "requests"), ("GET", "request"), ("PUT", "")]
)
async def test_control_names_what_there_is_when_it_is_asked_for_something_else(
    simulator: Simulator, method: str, path: str
) -> None:
    """A mistyped control is neither a path of the cloud's nor a request that is logged."""
    answer = await simulator.ask(method, f"/simulator/{path}")
    assert answer.status == 400
    assert "GET requests" in answer.body
    assert [entry["path"] for entry in await simulator.requests()] == ["/latest/api/token"]


async def test_control_lifts_faults_by_either_name(simulator: Simulator) -> None:
    """The deletion of old and the change's own name do the same."""
    for method, path in (("DELETE", "fault"), ("POST", "lift_faults")):
        await simulator.control("POST", "fault", {"kind": "status"})
        assert (await simulator.get("meta-data/instance-id")).status == 503
        await simulator.control(method, path)
        assert (await simulator.get("meta-data/instance-id")).status == 200


async def test_control_refuses_a_body_that_is_too_large(simulator: Simulator) -> None:
    """A control message is a handful of fields."""
    body = {"action": "x" * 70_000}
    with pytest.raises(AssertionError, match="Maximum request body size"):
        await simulator.control("POST", "notice", body)
