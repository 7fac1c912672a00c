"""Every item, header and status code against the contract of EC2's metadata service."""

import json

import pytest

from tests.support.simulated_aws import Simulator, TurnedClock
from watcher.simulator.aws.changes import NoticeIssued, SpotAction
from watcher.simulator.aws.scenario import AwsScenario

TTL = "x-aws-ec2-metadata-token-ttl-seconds"
ACTION = "meta-data/spot/instance-action"
TERMINATION = "meta-data/spot/termination-time"
REBALANCE = "meta-data/events/recommendations/rebalance"


@pytest.mark.parametrize("path", [ACTION, TERMINATION, REBALANCE])
async def test_notices_are_404_when_nothing_was_announced(simulator: Simulator, path: str) -> None:
    """Absent is a 404 with a page for a body, never an empty 200."""
    answer = await simulator.get(path)
    assert answer.status == 404
    assert "404" in answer.body


async def test_instance_action_is_json_in_plain_text_when_marked(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """Exactly two keys, UTC in whole seconds, text/plain without a charset."""
    clock.turn(10)
    answer = await simulator.get(ACTION)
    assert (answer.status, answer.content_type) == (200, "text/plain")
    assert answer.body == '{"action":"terminate","time":"2026-11-30T11:02:10Z"}'


async def test_instance_action_stays_the_same_when_polled(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """The time is an instant, not a distance from now."""
    clock.turn(10)
    first = await simulator.get(ACTION)
    clock.turn(33)
    assert (await simulator.get(ACTION)).body == first.body


async def test_termination_time_is_bare_text_when_terminating(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """The older item holds the same time, without JSON."""
    clock.turn(10)
    answer = await simulator.get(TERMINATION)
    assert (answer.status, answer.body) == (200, "2026-11-30T11:02:10Z")


@pytest.mark.parametrize("action", [SpotAction.STOP, SpotAction.HIBERNATE])
async def test_termination_time_is_404_when_not_terminating(
    simulator: Simulator, action: SpotAction
) -> None:
    """It exists for terminate only."""
    await simulator.control("POST", "notice", {"action": action})
    assert json.loads((await simulator.get(ACTION)).body)["action"] == action
    assert (await simulator.get(TERMINATION)).status == 404


async def test_rebalance_time_is_fixed_in_the_past_when_recommended(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """noticeTime is when the signal was emitted and does not move."""
    clock.turn(5)
    first = await simulator.get(REBALANCE)
    clock.turn(3)
    again = await simulator.get(REBALANCE)
    assert (first.status, first.content_type) == (200, "text/plain")
    assert first.body == again.body == '{"noticeTime":"2026-11-30T11:00:05Z"}'


async def test_instance_action_is_404_again_when_withdrawn(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """A withdrawal takes both items away."""
    clock.turn(60)
    assert (await simulator.get(ACTION)).status == 404
    assert (await simulator.get(TERMINATION)).status == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("meta-data/instance-id", "i-0123456789abcdef0"),
        ("meta-data/instance-life-cycle", "spot"),
        ("meta-data/instance-action", "none"),
        ("meta-data/events/maintenance/scheduled", "[]"),
        ("meta-data/events/maintenance/history", "[]"),
        ("meta-data/placement/availability-zone", "us-east-1a"),
        ("meta-data/placement/region", "us-east-1"),
        ("meta-data/local-ipv4", "10.0.0.10"),
    ],
)
async def test_item_has_its_plain_body_when_nothing_happens(
    simulator: Simulator, path: str, body: str
) -> None:
    """The items that are always there; no scheduled event is an empty list, not a 404."""
    answer = await simulator.get(path)
    assert (answer.status, answer.content_type, answer.body) == (200, "text/plain", body)


async def test_target_lifecycle_state_is_404_until_the_first_transition(
    simulator: Simulator,
) -> None:
    """Then it is the word alone, whatever word it is."""
    path = "meta-data/autoscaling/target-lifecycle-state"
    assert (await simulator.get(path)).status == 404
    for state in ("InService", "Terminated", "Terminating:Retained"):
        answer = await simulator.control("POST", "asg", {"target_state": state})
        assert answer["target_state"] == state
        found = await simulator.get(path)
        assert (found.status, found.content_type, found.body) == (200, "text/plain", state)


async def test_scheduled_events_move_to_the_history_when_they_end(simulator: Simulator) -> None:
    """A list in either place, active and then over."""
    lists = ("meta-data/events/maintenance/scheduled", "meta-data/events/maintenance/history")
    event = {"event_id": "instance-event-1", "not_before_s": 60, "not_after_s": 3660}
    answer = await simulator.control("POST", "maintenance", event)
    scheduled, history = [json.loads((await simulator.get(path)).body) for path in lists]
    assert scheduled == answer["maintenance"]
    assert scheduled == [
        {
            "NotBefore": "30 Nov 2026 11:01:00 GMT",
            "Code": "system-reboot",
            "Description": "scheduled reboot",
            "EventId": "instance-event-1",
            "NotAfter": "30 Nov 2026 12:01:00 GMT",
            "State": "active",
        }
    ]
    assert history == []
    end = {"event_id": "instance-event-1", "state": "canceled"}
    await simulator.control("POST", "maintenance_end", end)
    scheduled, history = [json.loads((await simulator.get(path)).body) for path in lists]
    assert (scheduled, history[0]["Description"]) == ([], "[Canceled] scheduled reboot")


async def test_identity_document_names_the_instance(simulator: Simulator) -> None:
    """JSON as plain text, with the same id as the item."""
    answer = await simulator.get("dynamic/instance-identity/document")
    document = json.loads(answer.body)
    assert answer.content_type == "text/plain"
    assert document["instanceId"] == (await simulator.get("meta-data/instance-id")).body
    assert {"accountId", "region", "availabilityZone", "instanceType"} <= document.keys()
    assert {"privateIp", "imageId"} <= document.keys()


async def test_directory_lists_its_children_one_a_line(
    simulator: Simulator, clock: TurnedClock
) -> None:
    """Sub-directories end in a slash, and items appear with the notice."""
    assert (await simulator.get("meta-data/spot/")).status == 404
    clock.turn(10)
    assert (await simulator.get("meta-data/spot/")).body == "instance-action\ntermination-time"
    assert (await simulator.get("meta-data/events/")).body == "maintenance/\nrecommendations/"
    assert (await simulator.get("")).body == "dynamic/\nmeta-data/"
    children = (await simulator.get("meta-data/")).body.split("\n")
    assert {"instance-id", "spot/", "placement/"} <= set(children)


@pytest.mark.parametrize("path", ["meta-data", "meta-data/instance-id/", "meta-data/nowhere/x"])
async def test_unknown_path_is_404(simulator: Simulator, path: str) -> None:
    """A directory without its slash, an item with one, and a stranger don't exist."""
    assert (await simulator.get(path)).status == 404


async def test_head_is_allowed_and_other_methods_are_not(simulator: Simulator) -> None:
    """GET and HEAD read; nothing writes."""
    headers = {"X-aws-ec2-metadata-token": simulator.token}
    path = "/latest/meta-data/instance-id"
    head = await simulator.ask("HEAD", path, headers)
    assert (head.status, head.body) == (200, "")
    assert [(await simulator.ask(verb, path, headers)).status for verb in ("PUT", "DELETE")] == [
        405,
        405,
    ]


class TestOfAnotherInstance:
    """The scenario's own id and cap, not constants."""

    @pytest.fixture
    def scenario(self) -> AwsScenario:
        issued = NoticeIssued(at_s=0, action=SpotAction.STOP, window_s=30)
        return AwsScenario(changes=(issued,), instance_id="i-0feed", token_ttl_cap_s=7)

    async def test_scenario_decides_what_is_answered(self, simulator: Simulator) -> None:
        """Id, cap and a notice that is there from the first request on."""
        assert (await simulator.get("meta-data/instance-id")).body == "i-0feed"
        assert (await simulator.mint("60")).headers[TTL] == "7"
        assert json.loads((await simulator.get(ACTION)).body) == {
            "action": "stop",
            "time": "2026-11-30T11:00:30Z",
        }


class TestWithoutTermination:
    """What the older item says while there is no time to tell."""

    @pytest.fixture
    def scenario(self) -> AwsScenario:
        return AwsScenario(no_termination_time="not scheduled", life_cycle="capacity-block")

    async def test_termination_time_is_a_text_when_there_is_none(
        self, simulator: Simulator
    ) -> None:
        """200 without a time, until one is set; the market is any word."""
        assert (await simulator.get(TERMINATION)).body == "not scheduled"
        await simulator.control("POST", "notice", {"action": "stop"})
        assert (await simulator.get(TERMINATION)).body == "not scheduled"
        await simulator.control("POST", "notice")
        assert (await simulator.get(TERMINATION)).body == "2026-11-30T11:02:00Z"
        assert (await simulator.get("meta-data/instance-life-cycle")).body == "capacity-block"


class TestSkew:
    """The cloud's clock is not ours."""

    @pytest.fixture
    def scenario(self) -> AwsScenario:
        return AwsScenario(cloud_ahead_s=-90)

    async def test_times_are_the_clouds_when_its_clock_is_off(self, simulator: Simulator) -> None:
        """Notice and Date header agree with each other, and with nobody else."""
        answer = await simulator.control("POST", "notice")
        assert answer["notice"] == {"action": "terminate", "time": "2026-11-30T11:00:30Z"}
        date = (await simulator.get(ACTION)).headers["date"]
        assert date == "Mon, 30 Nov 2026 10:58:30 GMT"
