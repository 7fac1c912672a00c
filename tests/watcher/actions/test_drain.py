"""The drain in virtual time, over the fake API server: budgets, deadlines, several notices."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from tests.support.draining import Draining, draining
from tests.support.own_node import NODE
from watcher.errors import ActionDryRun, ActionRetryable, ActionWaiting
from watcher.notice import NoticeKind
from watcher.trainers import Trainers

WEB = {"app": "web"}


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain."""
    async with draining(tmp_path, clock) as at:
        yield at


@pytest.mark.parametrize(("window_s", "reserve_s"), [(120, 30), (30, 10)])
async def test_pods_are_deleted_in_time_when_their_budget_allows_none_of_them_to_go(
    at: Draining, window_s: int, reserve_s: int
) -> None:
    """Until then they are asked for again and again, but not every second."""
    for number in range(3):
        at.cluster.add_pod(f"web-{number}", NODE, labels=WEB, grace_s=60)
    at.cluster.add_budget("web", WEB, allowed=0)
    spot = at.notice(left_s=window_s)
    before_s = window_s - reserve_s
    assert not await at.go_on(spot, before_s)
    asked = len(at.calls())
    assert 3 * (before_s / 5 - 1) <= asked <= 3 * (before_s / 5 + 1)
    assert at.asked() == []
    assert "blocked: team-a/web-0" in at.said[-1]
    assert "disruption budget" in at.said[-1]
    assert not await at.ask(spot)
    left_s = reserve_s - 1
    assert sorted(at.asked()) == [("delete", f"web-{number}", left_s) for number in range(3)]
    for name in at.cluster.pods():
        conditions = at.cluster.pod(name)["status"]["conditions"]
        marked = [one for one in conditions if one["type"] == "DisruptionTarget"]
        assert [(one["status"], one["reason"]) for one in marked] == [
            ("True", "DeletionByReprieve")
        ]
    at.clock.turn(left_s)
    at.finish()
    assert await at.ask(spot)
    assert at.said[-1].startswith("drained; deleted past their budgets: team-a/web-0")
    assert at.clock().boottime_s < spot.counts_until.boottime_s


async def test_pods_go_one_by_one_when_their_budget_allows_one_at_a_time(at: Draining) -> None:
    """As soon as it allows another one, none of them by force."""
    for number in range(3):
        at.cluster.add_pod(f"web-{number}", NODE, labels=WEB, grace_s=2)
    at.cluster.add_budget("web", WEB, allowed=1)
    spot = at.notice(left_s=120)
    for left in (2, 1, 0):
        assert await at.go_on(spot, 8) is (left == 0)
        assert len(at.cluster.pods()) == left
        at.cluster.allow("web", 1)
    assert {verb for verb, _, _ in at.asked()} == {"evict"}


async def test_pod_is_deleted_in_time_when_two_budgets_make_eviction_impossible(
    at: Draining,
) -> None:
    """The API server answers 500 for ever, and is not taken for being away."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("one", WEB, allowed=1)
    at.cluster.add_budget("two", WEB, allowed=1)
    spot = at.notice(left_s=120)
    assert not await at.go_on(spot, 91)
    assert at.asked() == [("delete", "web", 29)]


async def test_nothing_is_asked_when_the_deadline_has_passed(at: Draining) -> None:
    """Neither one that comes while pods are there, nor one that was over when it was heard."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    spot = at.notice(left_s=60)
    assert not await at.go_on(spot, 60, kubelet=False)
    calls = len(at.calls())
    with pytest.raises(ActionRetryable, match="deadline has come"):
        await at.ask(spot)
    at.clock.turn(1)
    with pytest.raises(ActionRetryable, match="deadline has come"):
        await at.ask(at.notice("past", left_s=-1))
    assert len(at.calls()) == calls


async def test_pods_are_evicted_when_the_deadline_is_only_a_guess(at: Draining) -> None:
    """Failing hardware may fail at once, or never: ten seconds are taken."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    broken = at.notice(left_s=None, kind=NoticeKind.HARDWARE)
    assert not await at.go_on(broken, 6)
    assert at.asked() == [("delete", "web", 4)]


async def test_earliest_of_several_deadlines_counts(at: Draining) -> None:
    """And the next one, should the node outlive it."""
    at.cluster.add_pod("web", NODE, labels=WEB, grace_s=600)
    at.cluster.add_budget("web", WEB, allowed=0)
    late, early = at.notice("late", left_s=600), at.notice("early", left_s=60)
    await at.ask(late)
    at.clock.turn(1)
    assert not await at.go_on(early, 45)
    assert at.asked() == [("delete", "web", 19)]
    at.cluster.lose_pod("web")
    at.cluster.add_pod("web", NODE, labels=WEB, grace_s=600)
    at.clock.turn(60)
    await at.ask(late)
    assert at.calls()[-1].status == 429


async def test_several_notices_ask_no_more_often_than_one(at: Draining) -> None:
    """Each is answered by what the drain has come to for another."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    one, other = at.notice("one"), at.notice("other")
    await at.ask(one)
    await at.ask(other)
    assert at.said[0] == at.said[1]
    lists = [call for call in at.server.access.calls if call.verb == "list"]
    assert len(lists) == len(at.calls()) == 1


async def test_withdrawn_notice_ends_the_drain_at_once(at: Draining) -> None:
    """A retry that comes late evicts nobody."""
    at.cluster.add_pod("web", NODE)
    spot = at.notice()
    at.withdraw(spot)
    with pytest.raises(ActionRetryable):
        await at.ask(spot)
    assert "no more pods" in await at.drain.undo(spot)
    assert at.calls() == []


async def test_drain_names_nothing_that_an_earlier_one_has_done(at: Draining) -> None:
    """Neither who had to go by force then, nor what was lost by it."""
    at.cluster.add_pod("web", NODE, labels=WEB, owner="")
    at.cluster.add_budget("web", WEB, allowed=0)
    first = at.notice("first", left_s=30)
    assert await at.go_on(first, 30)
    assert "lost for good: team-a/web" in at.said[-1]
    at.withdraw(first)
    await at.drain.undo(first)
    at.clock.turn(1)
    assert await at.ask(at.notice("second"))
    assert at.said[-1] == "drained"


async def test_nothing_is_stored_when_it_is_a_dry_run(tmp_path: Path, clock: TurnedClock) -> None:
    """The API server judges each eviction all the same."""
    async with draining(tmp_path, clock, is_dry_run=True) as at:
        at.cluster.add_pod("web", NODE, labels=WEB)
        at.cluster.add_pod("other", NODE)
        at.cluster.add_budget("web", WEB, allowed=0)
        spot = at.notice()
        at.cluster.edit_node(NODE, unschedulable=None)
        with pytest.raises(ActionDryRun, match="blocked: team-a/web"):
            await at.ask(spot)
        assert at.cluster.terminating() == []
        assert all(call.query["dryRun"] == "All" for call in at.calls())
        assert sorted(call.status for call in at.calls()) == [201, 429]


async def test_killed_daemon_goes_on_where_it_was(at: Draining) -> None:
    """Another one asks nobody again who is ending."""
    for number in range(30):
        at.cluster.add_pod(f"web-{number}", NODE)
    spot = at.notice()
    with pytest.raises(ActionWaiting):
        await at.drain.run(spot)
    at.made()
    assert await at.go_on(spot, 60)
    assert sorted(name for _, name, _ in at.asked()) == sorted(f"web-{n}" for n in range(30))


async def test_withdrawn_notice_ends_the_round_that_is_under_way(at: Draining) -> None:
    """What was planned a moment ago is not done any more."""
    at.cluster.add_pod("web", NODE)
    spot = at.notice()

    async def meanwhile() -> Trainers:
        at.withdraw(spot)
        return Trainers()

    at.drain._look = meanwhile
    assert not await at.ask(spot)
    assert at.calls() == []


async def test_nothing_is_remembered_of_a_pod_that_is_gone(at: Draining) -> None:
    """A drain may last for hours."""
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    spot = at.notice()
    await at.ask(spot)
    assert at.drain._calls.blocked
    at.cluster.lose_pod("web")
    at.clock.turn(1)
    await at.ask(spot)
    assert not at.drain._calls.blocked
    assert not at.drain._calls._again_s


async def test_event_says_how_soon_the_trainers_had_committed_when_all_is_drained(
    at: Draining,
) -> None:
    """For who asks later whether they were in time."""
    spot = at.notice()
    [entry] = at.state.entries()
    entry.stages["committed"] = 2.5
    assert await at.ask(spot)
    [event] = at.cluster.events()
    assert (event["reason"], event["message"]) == ("Drained", "drained; committed after 2.50 s")
