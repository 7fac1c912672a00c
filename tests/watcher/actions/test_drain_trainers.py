"""Whoever trains is left alone until it has saved, or until no time is left."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from tests.support.draining import Draining, draining
from tests.support.own_node import NODE


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain."""
    async with draining(tmp_path, clock) as at:
        yield at


async def test_trainer_is_left_alone_until_it_has_saved(at: Draining) -> None:
    """And then it has all that is left of the window, on the first call: none can lengthen it."""
    at.cluster.add_pod("trainer", NODE, grace_s=30)
    at.cluster.add_pod("web", NODE)
    spot = at.notice(left_s=120)
    for state in ("running", "stopping"):
        for _ in range(20):
            at.train("trainer", state)
            assert not await at.go_on(spot, 1)
    assert at.asked() == [("evict", "web", 30)]
    assert "held" in at.said[-1]
    assert "its trainer is stopping, 1200 steps done" in at.said[-1]
    at.train("trainer", "saved")
    assert not await at.ask(spot)
    assert at.asked("trainer") == [("evict", "trainer", 79)]


async def test_trainer_is_deleted_in_time_when_it_never_reaches_a_boundary(at: Draining) -> None:
    """However fresh its heartbeat is."""
    at.cluster.add_pod("trainer", NODE)
    spot = at.notice(left_s=120)
    for _ in range(90):
        at.train("trainer")
        assert not await at.go_on(spot, 1)
    assert at.asked() == []
    at.train("trainer")
    assert not await at.ask(spot)
    assert at.asked() == [("delete", "trainer", 29)]


async def test_trainer_is_evicted_when_its_heart_has_stopped(at: Draining) -> None:
    """10 s after the last beat nobody is there who could save."""
    at.cluster.add_pod("trainer", NODE)
    at.train("trainer")
    spot = at.notice(left_s=120)
    assert not await at.go_on(spot, 11)
    assert at.asked() == []
    assert not await at.ask(spot)
    assert at.asked() == [("evict", "trainer", 108)]


async def test_pod_waits_for_all_its_trainers_and_for_no_other_pods(at: Draining) -> None:
    """A file holds the pod that it names, whoever has written it."""
    at.cluster.add_pod("one", NODE)
    at.cluster.add_pod("other", NODE)
    at.train("one", "saved")
    at.train("other", "saved")
    (at.run_dir / "trainers" / "one.json").rename(at.run_dir / "trainers" / "second.json")
    at.train("one", "running")
    await at.ask(at.notice())
    assert at.asked() == [("evict", "other", 119)]


async def test_trainer_that_can_not_say_so_is_left_until_the_last_moment(at: Draining) -> None:
    """The annotation tells of it. A pod that has not started yet has nothing to save."""
    mark = {"reprieve.dev/trainer": "true"}
    at.cluster.add_pod("trainer", NODE, annotations=mark)
    at.cluster.add_pod("pending", NODE, annotations=mark, phase="Pending")
    at.cluster.add_pod("not", NODE, annotations={"reprieve.dev/trainer": "false"})
    spot = at.notice(left_s=120)
    assert not await at.go_on(spot, 90, kubelet=False)
    assert sorted(name for _, name, _ in at.asked()) == ["not", "pending"]
    await at.ask(spot)
    assert at.asked("trainer") == [("delete", "trainer", 29)]


async def test_nobody_is_evicted_before_it_is_time_when_trainers_can_not_be_seen(
    at: Draining,
) -> None:
    """Any pod may train then: unknown is not saved."""
    (at.run_dir / "trainers").symlink_to(at.run_dir)
    at.cluster.add_pod("web", NODE)
    at.cluster.add_pod("now", NODE, annotations={"reprieve.dev/evict": "now"})
    spot = at.notice(left_s=120)
    assert not await at.go_on(spot, 90, kubelet=False)
    assert at.asked() == [("evict", "now", 30)]
    assert "may train" in at.said[-1]
    await at.ask(spot)
    assert at.asked("web") == [("delete", "web", 29)]
