"""How the API server is asked to end pods, and what is made of its answers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN, Rule, Subject
from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.refusals import busy, forbidden
from tests.support.clocks import TurnedClock
from tests.support.draining import Draining, draining
from tests.support.own_node import NODE
from watcher.errors import ActionRetryable

WEB = {"app": "web"}


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain."""
    async with draining(tmp_path, clock) as at:
        yield at


async def test_pods_are_evicted_side_by_side_with_the_grace_that_fits(at: Draining) -> None:
    """Each its own, but never more than is left, and never none."""
    for name, grace_s in (("short", 5), ("long", 3600), ("none", 0)):
        at.cluster.add_pod(name, NODE, grace_s=grace_s)
    at.cluster.add_pod("elsewhere", "node-b")
    spot = at.notice(left_s=120)
    assert not await at.ask(spot)
    assert sorted(at.asked()) == [
        ("evict", "long", 119),
        ("evict", "none", 1),
        ("evict", "short", 5),
    ]
    uids = {at.cluster.pod(name)["metadata"]["uid"] for name in ("short", "long", "none")}
    told = {call.body["deleteOptions"]["preconditions"]["uid"] for call in at.calls()}
    assert told == uids
    assert await at.go_on(spot, 120)
    assert at.cluster.pods() == ["elsewhere"]
    assert len(at.calls()) == 3


async def test_pod_is_not_asked_again_before_the_time_that_the_server_names(at: Draining) -> None:
    """A budget that is still being looked at: 10 s."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=1, is_observed=False)
    spot = at.notice(left_s=120)
    await at.go_on(spot, 10)
    assert len(at.calls()) == 1
    at.cluster.allow("web", 1)
    await at.ask(spot)
    assert at.asked() == [("evict", "web", 30)]


async def test_pod_that_ends_too_late_gets_less_time_once(at: Draining) -> None:
    """Somebody else has given it ten minutes; it is not evicted a second time."""
    at.cluster.add_pod("web", NODE, grace_s=600)
    await at.drain._pods.evict((await at.drain._pods.list())[0], 600)
    at.clock.turn(10)
    before = len(at.calls())
    spot = at.notice(left_s=60)
    assert not await at.go_on(spot, 58, kubelet=False)
    assert at.asked()[before:] == [("delete", "web", 69)]
    assert at.cluster.pod("web")["metadata"]["deletionGracePeriodSeconds"] == 69
    at.finish()
    at.clock.turn(1)
    at.finish()
    assert await at.ask(spot)


async def test_vanished_pod_is_success(at: Draining) -> None:
    """It is gone, or it is another one with its name, which is not evicted for it."""
    at.cluster.add_pod("gone", NODE)
    at.cluster.add_pod("set-0", NODE)
    spot = at.notice()
    listed = await at.drain._pods.list()
    at.cluster.lose_pod("gone")
    at.cluster.lose_pod("set-0")
    at.cluster.add_pod("set-0", "node-b")

    async def as_before(_labels: str | None = None) -> object:
        return listed

    at.drain._pods.list = as_before  # type: ignore[method-assign,assignment] # a list from before
    assert not await at.ask(spot)
    assert [call.status for call in at.calls()] == [404, 409]
    del at.drain._pods.list
    at.clock.turn(1)
    assert await at.ask(spot)
    assert at.cluster.pods() == ["set-0"]


async def test_evictions_are_few_at_a_time_until_there_is_no_time_left(at: Draining) -> None:
    """20 in a round; what has to be deleted goes all at once."""
    for number in range(50):
        at.cluster.add_pod(f"web-{number:02}", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    spot = at.notice(left_s=30)
    counts = []
    for _ in range(3):
        await at.go_on(spot, 1)
        counts.append(len(at.calls()))
    assert counts == [20, 40, 50]
    at.clock.turn(17)
    await at.ask(spot)
    assert len(at.asked()) == 50


async def test_drain_pauses_when_the_api_server_has_too_much_to_do(at: Draining) -> None:
    """As long as it asks for; at the end the deadline is more than its wish."""
    at.cluster.add_pod("web", NODE)
    at.server.faults.add(busy(), resource="pods/eviction")
    spot = at.notice(left_s=30)
    await at.go_on(spot, 20)
    assert 4 <= len(at.calls()) <= 20
    await at.ask(spot)
    assert at.asked() == [("delete", "web", 9)]


async def test_pod_is_deleted_in_time_when_its_eviction_is_forbidden(at: Draining) -> None:
    """By a webhook say, for this one alone; the others go."""
    at.cluster.add_pod("theirs", NODE)
    at.cluster.add_pod("web", NODE)
    at.server.faults.add(forbidden(), resource="pods/eviction", name="theirs")
    spot = at.notice(left_s=30)
    assert not await at.go_on(spot, 21, kubelet=False)
    assert at.asked() == [("evict", "web", 29), ("delete", "theirs", 9)]


@pytest.mark.parametrize("trouble", [Trouble.HANG, Trouble.RESET, Trouble.LOST])
async def test_pods_go_after_all_when_the_api_server_was_away(
    tmp_path: Path, clock: TurnedClock, trouble: Trouble
) -> None:
    """Whose answer was lost is not asked again."""
    async with draining(tmp_path, clock, limit_s=0.2) as at:
        at.cluster.add_pod("web", NODE)
        spot = at.notice()
        at.server.faults.add(trouble, resource="pods/eviction", times=1)
        with pytest.raises(ActionRetryable, match=r"no answer|Server"):
            await at.ask(spot)
        at.server.faults.lift()
        at.clock.turn(1)
        await at.ask(spot)
        assert at.cluster.terminating() == ["web"]
        assert len(at.asked()) == 1


async def test_condition_is_left_out_when_it_can_not_be_set(at: Draining) -> None:
    """The delete is what matters."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    at.server.faults.add(forbidden(), resource="pods/status")
    spot = at.notice(left_s=30)
    await at.go_on(spot, 21)
    assert at.asked() == [("delete", "web", 9)]


async def test_events_on_the_node_name_who_is_in_the_way_and_who_had_to_go(at: Draining) -> None:
    """Once each, for people who look at the Node."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    spot = at.notice(left_s=60)
    assert await at.go_on(spot, 60)
    events = {one["reason"]: one for one in at.cluster.events()}
    assert len(events) == len(at.cluster.events()) == 3
    assert "blocked: team-a/web" in events["DrainWaits"]["message"]
    assert events["DrainWaits"]["type"] == "Warning"
    assert events["DrainForced"]["message"].endswith("team-a/web")
    assert events["Drained"]["type"] == "Normal"
    assert {one["involvedObject"]["name"] for one in events.values()} == {NODE}


async def test_pod_is_not_said_to_be_deleted_when_that_is_forbidden(at: Draining) -> None:
    """It is blocked, and whoever looks at the Node reads why."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    at.server.faults.add(forbidden(), verb="delete", resource="pods")
    spot = at.notice(left_s=30)
    assert not await at.go_on(spot, 30)
    assert "forbidden" in at.said[-1]
    assert {one["reason"] for one in at.cluster.events()} == {"DrainWaits"}


async def test_drain_goes_on_when_no_events_can_be_written(at: Draining) -> None:
    """They are for people; nobody's pod waits for them."""
    at.cluster.add_pod("web", NODE, labels=WEB, grace_s=5)
    at.cluster.add_budget("web", WEB, allowed=0)
    at.server.faults.add(forbidden(), resource="events")
    spot = at.notice(left_s=30)
    assert await at.go_on(spot, 28)
    assert at.asked() == [("delete", "web", 5)]
    assert at.cluster.events() == []


async def test_drain_needs_no_rights_but_those_that_the_docs_name(at: Draining) -> None:
    """An account that has these and no others drains to the end."""
    rules = (
        Rule(["get"], ["nodes"]),
        Rule(["list", "delete"], ["pods"]),
        Rule(["create"], ["pods/eviction"]),
        Rule(["patch"], ["pods/status"]),
        Rule(["create"], ["events"], namespace="default"),
    )
    at.server.access.subjects[ADMIN] = Subject("reprieve", rules)
    at.cluster.add_pod("web", NODE)
    at.cluster.add_pod("blocked", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    assert await at.go_on(at.notice(left_s=60), 60)
    assert at.server.access.used("reprieve") == {
        (verb, "", resource) for rule in rules for verb in rule.verbs for resource in rule.resources
    }
