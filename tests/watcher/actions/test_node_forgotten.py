"""What this boot has done to the Node for a notice of which nobody knows any more."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.refusals import internal
from tests.support.clocks import START, eventually
from tests.support.node_actions import NodeActions, node_actions
from tests.support.own_node import NODE
from tests.support.standings import in_force
from watcher.actions import node_forgotten
from watcher.actions.node_forgotten import Forgotten
from watcher.errors import SourceMalformed
from watcher.health import SourceHealth
from watcher.metrics import Metrics

SPOT = in_force()


class Scene:
    """A Node on which a daemon has left its marks, and the one that has started since."""

    def __init__(self, at: NodeActions, before: bytes, boot_id: str = "boot-1") -> None:
        self.before, self.cluster = before, at.cluster
        self.server = at.own.server
        self.now = NodeActions(at.own, boot_id)
        self.health = SourceHealth("test", ("key",), START, Metrics())
        self.forgotten = Forgotten(self.now.desk, lambda: [self.health])
        self.keeping = asyncio.create_task(self.forgotten.keep())

    @property
    def is_freed(self) -> bool:
        """Whether nothing of ours is on the Node."""
        return self.cluster.content(NODE) == self.before

    def answers(self) -> None:
        """Let the source answer that there is nothing."""
        self.health.answered("key", "absent", START, took_s=None)

    def goes_blind(self) -> None:
        """Let the source be blind from now on."""
        error = SourceMalformed("x")
        error.key = "key"
        self.health.failed(error, START)


@pytest.fixture
async def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NodeActions]:
    """Run a Node; the looks follow each other at once."""
    monkeypatch.setattr(node_forgotten, "LOOK_S", 0.001)
    async with node_actions(tmp_path) as at:
        yield at


@pytest.fixture
async def scene(at: NodeActions) -> AsyncIterator[Scene]:
    """Leave the Node marked, and start the next daemon."""
    before = at.cluster.content(NODE)
    await at.run(SPOT)
    scene = Scene(at, before)
    yield scene
    scene.keeping.cancel()
    await asyncio.gather(scene.keeping, return_exceptions=True)


async def test_node_is_freed_when_every_source_knows_of_no_notice(scene: Scene) -> None:
    """To the byte, and with it the watch over it ends."""
    scene.answers()
    await asyncio.wait_for(scene.keeping, 20)
    assert scene.is_freed


async def test_node_stays_marked_as_long_as_a_source_is_blind(scene: Scene) -> None:
    """It may be about to tell of the notice; what it has said before that does not count."""
    for _ in range(3):
        scene.answers()
        await asyncio.sleep(0)
        scene.goes_blind()
        await asyncio.sleep(0.02)
        assert not scene.is_freed
    assert not scene.keeping.done()
    scene.answers()
    await eventually(lambda: scene.is_freed)


async def test_node_stays_marked_when_a_notice_wants_it(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """The one that it was marked for, or the next; its end undoes it."""
    await scene.now.run(SPOT)
    scene.answers()
    await asyncio.wait_for(scene.keeping, 20)
    assert not scene.is_freed
    assert "nobody knows" not in caplog.text
    await scene.now.undo(SPOT)
    assert scene.is_freed


async def test_node_is_freed_when_the_api_server_was_away_for_a_while(scene: Scene) -> None:
    """It is tried again."""
    scene.server.faults.add(internal("etcd"), times=5)
    scene.answers()
    await asyncio.wait_for(scene.keeping, 20)
    assert scene.is_freed


async def test_node_is_not_touched_when_nothing_on_it_is_ours(at: NodeActions) -> None:
    """A person's cordon has no mark."""
    at.cluster.edit_node(NODE, unschedulable=True)
    scene = Scene(at, at.cluster.content(NODE))
    scene.answers()
    await asyncio.wait_for(scene.keeping, 20)
    assert scene.is_freed
    assert {call.verb for call in at.own.server.access.calls} == {"get"}
