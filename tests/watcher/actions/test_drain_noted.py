"""That a Node is drained is noted on it, where something of ours is: others wait for it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from tests.support.draining import Draining, draining
from tests.support.own_node import NODE
from watcher.actions.node_steps import Cordon
from watcher.kube.keys import STATE
from watcher.notice import Standing


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain."""
    async with draining(tmp_path, clock) as at:
        yield at


async def cordoned(at: Draining) -> tuple[Standing, Cordon]:
    """Put a notice in force, and cordon the Node for it."""
    spot, cordon = at.notice(), Cordon(at.drain._desk)
    await cordon.run(spot)
    return spot, cordon


def is_noted(at: Draining) -> bool:
    """Tell what the Node says."""
    text = at.cluster.node(NODE)["metadata"]["annotations"][STATE]
    return json.loads(text)["drained"] is True


async def test_node_is_noted_as_drained_when_its_last_pod_is_gone(at: Draining) -> None:
    """Not when it was asked to end; agents of DaemonSets stay."""
    at.cluster.add_pod("agent", NODE, owner="DaemonSet")
    at.cluster.add_pod("web", NODE, grace_s=30)
    spot, _ = await cordoned(at)
    assert not await at.go_on(spot, 30)
    assert not is_noted(at)
    assert await at.go_on(spot, 1)
    assert is_noted(at)


@pytest.mark.parametrize("rules", [{}, {"scope": "trainers"}, {"selector": "a=b"}])
async def test_node_is_not_noted_as_drained_when_pods_were_left_alone(
    at: Draining, rules: dict[str, str]
) -> None:
    """By the rules or by their owners: the drain is over, and they are still there."""
    at.made(**rules)
    owners = {} if rules else {"reprieve.dev/evict": "never"}
    at.cluster.add_pod("web", NODE, annotations=owners)
    spot, _ = await cordoned(at)
    assert await at.ask(spot)
    assert not is_noted(at)


async def test_note_is_gone_when_the_notice_is_withdrawn(at: Draining) -> None:
    """The next one finds pods that have come back."""
    spot, cordon = await cordoned(at)
    assert await at.ask(spot)
    assert is_noted(at)
    at.withdraw(spot)
    await at.drain.undo(spot)
    await cordon.undo(spot)
    assert STATE not in at.cluster.node(NODE)["metadata"].get("annotations", {})
    again, cordon = at.notice("again"), Cordon(at.drain._desk)
    at.cluster.add_pod("web", NODE)
    await cordon.run(again)
    assert not is_noted(at)
