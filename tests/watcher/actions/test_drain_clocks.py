"""A drain where clocks are wrong: the API server's is hours from ours, or ours jumps."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.clocks import START, TurnedClock
from tests.support.draining import Draining, draining
from tests.support.own_node import NODE
from watcher.actions.drain_plan import Deed, plan_drain
from watcher.actions.drain_window import window_of
from watcher.config import DrainConfig
from watcher.kube.answers import stamped
from watcher.notice import Moment
from watcher.trainers import Trainers

WEB = {"app": "web"}
APART_S = [-86_400, -200, -3, -0.5, 0.5, 3, 200, 86_400]
"""How far the API server's clock is ahead of ours, in seconds."""


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain."""
    async with draining(tmp_path, clock) as at:
        yield at


def _set_apart(at: Draining, ahead_s: float) -> None:
    """Have the API server keep a time of its own, which no jump of ours changes."""

    def now() -> float:
        return at.clock().boottime_s - START.boottime_s + ahead_s

    at.server.store.now = lambda: START.wall + timedelta(seconds=now())


@pytest.mark.parametrize("ahead_s", APART_S)
async def test_pods_keep_their_grace_when_the_api_servers_clock_is_another(
    at: Draining, ahead_s: float
) -> None:
    """Who was evicted in time is not killed a second later for what the other clock shows."""
    _set_apart(at, ahead_s)
    for name, grace_s in (("short", 30), ("long", 3600)):
        at.cluster.add_pod(name, NODE, grace_s=grace_s)
    assert not await at.go_on(at.notice(left_s=120), 110, kubelet=False)
    assert sorted(at.asked()) == [("evict", "long", 119), ("evict", "short", 30)]


@pytest.mark.parametrize("ahead_s", APART_S)
async def test_pod_that_ends_too_late_gets_less_time_whatever_the_clocks_show(
    at: Draining, ahead_s: float
) -> None:
    """Once, and to a second before the deadline; whole seconds allow no better."""
    _set_apart(at, ahead_s)
    at.cluster.add_pod("web", NODE, grace_s=600)
    await at.drain._pods.evict((await at.drain._pods.list())[0], 600)
    at.clock.turn(10)
    spot = at.notice(left_s=60)
    assert not await at.go_on(spot, 58, kubelet=False)
    [(verb, name, grace_s)] = at.asked()[1:]
    assert (verb, name) == ("delete", "web")
    assert 68 <= grace_s <= 69


@pytest.mark.parametrize("jump_s", [-7200, 7200])
async def test_drain_keeps_its_times_when_our_clock_jumps(at: Draining, jump_s: int) -> None:
    """What counts is how long a notice was heard ago, and that clock does not jump."""
    _set_apart(at, 0)
    at.cluster.add_pod("free", NODE)
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    spot = at.notice(left_s=120)
    assert not await at.go_on(spot, 10, kubelet=False)
    now = at.clock()
    at.clock.moment = Moment(now.wall + timedelta(seconds=jump_s), now.boottime_s)
    assert not await at.go_on(spot, 80, kubelet=False)
    assert at.asked() == [("evict", "free", 30)]
    assert not await at.ask(spot)
    assert at.asked()[1:] == [("delete", "web", 29)]


async def test_our_clock_has_to_do_when_the_api_server_does_not_show_its_own(
    at: Draining, clock: TurnedClock
) -> None:
    """A proxy may leave it out."""
    at.cluster.add_pod("web", NODE, grace_s=600)
    await at.drain._pods.evict((await at.drain._pods.list())[0], 600)
    pod = replace((await at.drain._pods.list())[0], seen_at=None)
    window = window_of([at.notice(left_s=60)], 30, clock())
    assert window is not None
    [ask] = plan_drain([pod], Trainers(), window, DrainConfig(), clock()).asks
    assert (ask.deed, ask.grace_s) == (Deed.SHORTEN, 59)


@pytest.mark.parametrize(
    "said", ["", "soon", "Mon, 30 Nov 2026 10:05:06 -0000", "Mon, 99 Nov 99999 99:99:99 GMT"]
)
def test_clock_is_not_known_when_the_header_says_no_instant(said: str) -> None:
    """It is a proxy's, or nobody's."""
    assert stamped({"Date": said}) is None
    assert stamped({"Date": "Mon, 30 Nov 2026 10:05:06 GMT"}) == START.wall
