"""The source ``kubernetes_node`` under supervision, on the fake API server."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from tests.support.clocks import TurnedClock, eventually
from tests.support.own_node import NODE, OwnNode, own_node
from watcher.actions.node_identity import judge
from watcher.health import SourceHealth
from watcher.kube.follow import Follower
from watcher.kube.keys import NOTICE
from watcher.kube.node import NODES
from watcher.kube.objects import Node, node_of
from watcher.metrics import Metrics
from watcher.notice import Moment, Notice
from watcher.sources.kubernetes_node import KEYS, MARKS, KubernetesNode, Own
from watcher.sources.reading import ForInstance
from watcher.sources.relayed_notice import added
from watcher.supervise import keep_running

BOOT_ID = "boot-1"
SPOT = "aws-node-termination-handler/spot-itn"
ADVICE = "aws-node-termination-handler/rebalance-recommendation"


class Ears:
    """The source, what it has said, and the test's hands on the Node."""

    def __init__(self, own: OwnNode, clock: TurnedClock, adopted: Iterable[Notice]) -> None:
        self.own, self.cluster, self.clock = own, own.cluster, clock
        self.facts: dict[str, str] = {}
        self.health = SourceHealth(KubernetesNode.name, KEYS, clock(), Metrics())
        follower = Follower(own.client, NODES, f"metadata.name={NODE}")
        self.noted: list[Node] = []
        known = Own(BOOT_ID, lambda node: judge(node, self.facts, BOOT_ID), self.noted.append)
        self.source = KubernetesNode(follower, known, self.health, clock, adopted)
        self.inbox: asyncio.Queue[Notice] = asyncio.Queue()

    async def hears(self, *expected: str) -> list[Notice]:
        """Wait until these and no others are in the inbox: kinds, with - if withdrawn, sorted."""
        await eventually(lambda: self.inbox.qsize() >= len(expected))
        notices = [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]
        assert sorted(f"{'-' * one.withdrawn}{one.kind}" for one in notices) == sorted(expected)
        return notices

    async def reads(self) -> None:
        """Wait until the source has read the Node as it is now."""
        self.clock.turn(0.001)
        self.cluster.mark_node(NODE, labels={"seen": str(self.own.server.store.version)})
        await eventually(lambda: self.answered == self.clock())

    @property
    def answered(self) -> Moment | None:
        """When the Node was read last."""
        return self.health.keys[MARKS].answered

    async def is_blind(self, key: str, why: str) -> None:
        """Wait until a key is blind for this reason."""
        await eventually(lambda: why in self.health.keys[key].why)

    async def sees(self) -> None:
        """Wait until no key is blind."""
        await eventually(lambda: self.health.blind_since() is None)

    def taint(self, *keys: str) -> None:
        """Leave these taints on the Node and no others, as a controller does."""
        taints = [{"key": key, "value": "x", "effect": "NoSchedule"} for key in keys]
        self.cluster.edit_node(NODE, taints=taints or None)

    def relay(self, told: ForInstance, *, boot_id: str = "") -> str:
        """Tell the Node of a notice as the relay does, and return the annotation."""
        node = replace(node_of(self.cluster.node(NODE)), boot_id=boot_id)
        text = added(node.annotations.get(NOTICE), told, node, told.notice.received.wall)
        assert text is not None
        annotate(self.own, text)
        return text


def annotate(own: OwnNode, text: str | None) -> None:
    """Put any annotation in the relay's place."""
    own.cluster.mark_node(NODE, annotations={NOTICE: text})


@asynccontextmanager
async def hearing_node(
    directory: Path,
    clock: TurnedClock,
    adopted: Iterable[Notice] = (),
    *,
    annotation: str | None = None,
) -> AsyncIterator[Ears]:
    """Run the source as the daemon does, on a Node with the relay's annotation."""
    async with own_node(directory) as own:
        annotate(own, annotation)
        ears = Ears(own, clock, adopted)
        running = asyncio.create_task(keep_running(ears.source, ears.inbox, clock))
        try:
            yield ears
            assert not running.done(), running.exception()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
