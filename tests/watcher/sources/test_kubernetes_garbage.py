"""The source on the Node when what comes is garbage: alive, blind, and nothing taken back."""

from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path

import pytest

from tests.fakes.kube.faults import Garbage, Trouble, What
from tests.fakes.kube.kinds import NODE as NODE_KIND
from tests.fakes.kube.refusals import busy, conflict, expired, forbidden, internal, timed_out
from tests.fakes.kube.watch import Order
from tests.support.clocks import TurnedClock, eventually
from tests.support.hearing_node import ADVICE, SPOT, Ears, annotate, hearing_node
from tests.support.own_node import NODE
from watcher.kube import follow
from watcher.sources import following
from watcher.sources.kubernetes_node import MARKS, RELAYED

META = b'"metadata":{"name":"node-a","uid":"u","resourceVersion":"9"}'

FAULTS: dict[str, What] = {
    "403": forbidden(),
    "409": conflict(NODE_KIND, NODE),
    "410": expired(2, 217),
    "429": busy(retry_after_s=0),
    "500": internal("etcd"),
    "504": timed_out(),
    "hang": Trouble.HANG,
    "reset": Trouble.RESET,
    "lost": Trouble.LOST,
    "html": Garbage(b"<html>"),
    "latin": Garbage(b'{"type":"MODIFIED","object":{"metadata":{"name":"\xe9"}}}\n'),
    "deep": Garbage(b"[" * 100_000),
    "no list": Garbage(b'{"items":5,"metadata":{"resourceVersion":"9"}}\n'),
    "no node": Garbage(b'{"items":[5],"metadata":{"resourceVersion":"9"}}\n'),
    "types": Garbage(
        b'{"items":[{"spec":{"taints":5},' + META + b'}],"metadata":{"resourceVersion":"9"}}\n'
    ),
    "gone": Garbage(b'{"items":[],"metadata":{"resourceVersion":"9"}}\n'),
    "line": Garbage(b'{"type":"MODIFIED","object":{"spec":{"taints":5},' + META + b"}}\n"),
    "half": Garbage(b'{"type":"MODIFIED","object":{"spec":{},'),
    "error": Garbage(b'{"type":"ERROR","object":{"code":"x"}}\n'),
}


@pytest.fixture
async def ears(
    tmp_path: Path, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Ears]:
    """Hear our Node, with a notice on it."""
    monkeypatch.setattr(follow, "LEAST_WATCH_S", 0.0)
    monkeypatch.setattr(following, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(following, "LONGEST_PAUSE_S", 0.05)
    async with hearing_node(tmp_path, clock) as ears:
        await ears.sees()
        ears.taint(SPOT)
        await ears.hears("preemption")
        yield ears


CASES = [*product(["list"], FAULTS), *product(["watch"], sorted(FAULTS.keys() - {"lost"}))]
"""A watch has no answer that could be lost."""


@pytest.mark.parametrize(("verb", "fault"), CASES)
async def test_nothing_is_withdrawn_when_the_node_can_not_be_read(
    ears: Ears, verb: str, fault: str
) -> None:
    """Unknown is not clear; and what has come meanwhile is heard as soon as it can be."""
    await eventually(lambda: ears.own.server.watches)
    ears.own.server.faults.add(FAULTS[fault], verb=verb)
    ears.own.server.order(Order.EXPIRE)
    await eventually(lambda: ears.health.keys[MARKS].blind_since)
    assert ears.inbox.empty()
    ears.taint(SPOT, ADVICE)
    ears.own.server.faults.lift()
    await ears.hears("rebalance")
    await ears.sees()
    ears.taint(ADVICE)
    await ears.hears("-preemption")


@pytest.mark.parametrize(
    "annotation",
    [
        "\ud800",
        '{"schema":' + "[" * 900 + "]" * 900 + "}",
        '{"schema":1,"provider_id":"","notices":' + "[" * 900 + "]" * 900 + "}",
        '{"schema":1,"provider_id":"","notices":[' + '{"id":' * 900 + "1" + "}" * 900 + "]}",
        "[" * 100_000,
        "x" * (64 * 1024 + 1),
        5,
    ],
    ids=["surrogate", "schema", "notices", "entry", "deep", "long", "number"],
)
async def test_marks_are_heard_when_the_annotation_is_garbage(
    ears: Ears, annotation: object
) -> None:
    """Whoever can write it can silence nobody else."""
    annotate(ears.own, annotation)  # type: ignore[arg-type]  # whatever a server says
    if annotation != 5:  # which is no annotation
        await eventually(lambda: ears.health.keys[RELAYED].blind_since)
    ears.taint(SPOT, ADVICE)
    await ears.hears("rebalance")
