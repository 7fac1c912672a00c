"""Which pods leave the Node, and in what order."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from tests.support.draining import Draining, draining
from tests.support.own_node import NODE
from watcher.errors import ActionRefused


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain."""
    async with draining(tmp_path, clock) as at:
        yield at


async def test_pods_that_are_nobodys_to_evict_stay(at: Draining) -> None:
    """A DaemonSet's would be made anew at once, the kubelet's own and finished ones are no use."""
    at.cluster.add_pod("agent", NODE, owner="DaemonSet")
    at.cluster.add_pod("static", NODE, annotations={"kubernetes.io/config.mirror": "x"})
    at.cluster.add_pod("done", NODE, phase="Succeeded")
    at.cluster.add_pod("never", NODE, annotations={"reprieve.dev/evict": "never"})
    assert await at.ask(at.notice())
    assert at.said == ["drained"]
    assert at.calls() == []


async def test_owner_says_when_a_pod_goes(at: Draining) -> None:
    """``now`` even if it trains, ``last`` when all others are gone."""
    at.cluster.add_pod("trainer", NODE, annotations={"reprieve.dev/evict": "now"})
    at.train("trainer")
    at.cluster.add_pod("cache", NODE, annotations={"reprieve.dev/evict": "last"}, grace_s=5)
    at.cluster.add_pod("web", NODE, grace_s=5)
    spot = at.notice(left_s=120)
    assert not await at.ask(spot)
    assert sorted(name for _, name, _ in at.asked()) == ["trainer", "web"]
    at.cluster.finish_pod("trainer")
    await at.ask(spot)
    assert at.asked("cache") == []
    at.cluster.finish_pod("web")
    await at.ask(spot)
    assert at.asked("cache") == [("evict", "cache", 5)]


async def test_only_trainers_or_selected_pods_go_when_that_is_set(at: Draining) -> None:
    """Everything else is left to whoever else drains."""
    at.cluster.add_pod("trainer", NODE, labels={"team": "a"})
    at.train("trainer", "saved")
    at.cluster.add_pod("web", NODE, labels={"team": "b"})
    spot = at.notice()
    at.made(scope="trainers")
    await at.ask(spot)
    assert [name for _, name, _ in at.asked()] == ["trainer"]
    at.made(selector="team in (b,c),!x")
    await at.ask(spot)
    assert [name for _, name, _ in at.asked()] == ["trainer", "web"]
    at.made(scope="off")
    assert await at.ask(spot)
    assert "switched off" in at.said[-1]


async def test_pods_stay_for_load_balancers_but_trainers_do_not(at: Draining) -> None:
    """They get no requests, and have nothing to wait for but their save."""
    at.made(after_s=15)
    at.cluster.add_pod("trainer", NODE)
    at.train("trainer", "saved")
    at.cluster.add_pod("web", NODE)
    spot = at.notice(left_s=120)
    assert not await at.go_on(spot, 15, kubelet=False)
    assert [name for _, name, _ in at.asked()] == ["trainer"]
    await at.ask(spot)
    assert at.asked("web") == [("evict", "web", 30)]


async def test_evictions_wait_for_the_cordon_but_not_for_ever(at: Draining) -> None:
    """A pod that is evicted before it might be made anew on the same Node."""
    at.cluster.add_pod("web", NODE)
    spot = at.notice()
    at.cluster.edit_node(NODE, unschedulable=None)
    assert not await at.go_on(spot, 4)
    assert at.calls() == []
    assert "until node-a is cordoned" in at.said[-1]
    at.clock.turn(1)
    await at.ask(spot)
    assert len(at.calls()) == 1


async def test_no_pod_of_another_machine_is_evicted(at: Draining) -> None:
    """The Node's name was wrong."""
    at.cluster.edit_node(NODE, providerID="aws:///eu-west-1a/i-0aaaaaaaaaaaaaaa0")
    at.facts["instanceId"] = "i-0bbbbbbbbbbbbbbb0"
    at.cluster.add_pod("web", NODE)
    with pytest.raises(ActionRefused, match="another machine"):
        await at.ask(at.notice())
    assert at.calls() == []


async def test_pods_that_nobody_makes_anew_are_named_at_the_end(at: Draining) -> None:
    """They are evicted all the same: the node takes them with it."""
    at.cluster.add_pod("bare", NODE, owner="", grace_s=1)
    at.cluster.add_pod("scratch", NODE, volumes=[{"name": "x", "emptyDir": {}}], grace_s=1)
    assert await at.go_on(at.notice(), 5)
    assert at.said[-1] == (
        "drained; lost for good: team-a/bare (no controller makes another), "
        "team-a/scratch (its emptyDir goes with it)"
    )
