"""What an API server, or whoever is in its place, could send: refused by class, never more."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.kube.faults import Garbage
from tests.support.own_node import NODE, OwnNode
from watcher.errors import KubeError, KubeMalformed, KubeUnavailable
from watcher.kube.client import KubeClient
from watcher.kube.follow import Follower
from watcher.kube.node import NODES
from watcher.kube.objects import items_of, node_of, pod_of
from watcher.kube.place import Place

DEEP = '{"a":' * 950 + "1" + "}" * 950

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
META = ("name", "namespace", "uid", "resourceVersion", "labels", "annotations")
DYING = ("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences")
SPEC = ("taints", "providerID", "unschedulable", "terminationGracePeriodSeconds", "volumes")
TIMES = st.sampled_from(["2026-11-30T10:00:00Z", "2026-11-30T10:00:00", "9999-12-31T23:59:59Z"])
NUMBERS = st.sampled_from([10**400, -(10**400), float("inf"), float("nan"), True, "30"])

WHOLE: dict[str, Any] = {
    "metadata": {"name": "n", "namespace": "x", "uid": "u", "resourceVersion": "1"},
    "spec": {},
    "status": {"phase": "Running", "nodeInfo": {"bootID": "b"}},
}


def _with(part: str, changes: dict[str, object]) -> dict[str, Any]:
    return {**WHOLE, part: {**WHOLE[part], **changes}}


OBJECTS = st.one_of(
    st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), JSON).map(
        lambda parts: {**WHOLE, **parts}
    ),
    st.dictionaries(st.sampled_from([*META, *DYING]), JSON | TIMES | NUMBERS).map(
        lambda changes: _with("metadata", changes)
    ),
    st.dictionaries(st.sampled_from(SPEC), JSON | NUMBERS).map(
        lambda changes: _with("spec", changes)
    ),
)


@given(obj=OBJECTS | JSON)
def test_object_is_read_or_refused_whatever_it_is(obj: Any) -> None:  # noqa: ANN401 - any JSON
    """What is read can be shown, and sent back."""
    for read in (node_of, pod_of):
        try:
            found = read(obj)
        except KubeMalformed:
            continue
        assert f"{found.name}{found.uid}".isprintable()
        assert all(isinstance(word, str) for word in found.annotations.values())
    try:
        items, version = items_of(obj)
    except KubeMalformed:
        return
    assert all(isinstance(item, dict) for item in items)
    assert version.isprintable()


@pytest.mark.parametrize(
    "meta",
    [
        {"name": "\ud800"},
        {"name": "a\nb"},
        {"resourceVersion": "\udfff"},
        {"deletionTimestamp": "2026-11-30T10:00:00"},
        {"deletionTimestamp": 5},
        {"deletionGracePeriodSeconds": float("inf")},
    ],
)
def test_pod_is_malformed_when_what_it_says_can_not_be_used(meta: dict[str, object]) -> None:
    """Half a character can't be sent back, and a time without a zone is no instant."""
    read = node_of if "resourceVersion" in meta else pod_of
    with pytest.raises(KubeMalformed):
        read(_with("metadata", meta))


def test_grace_is_taken_for_a_long_one_when_it_is_beyond_every_clock() -> None:
    """And for none where it is less than none."""
    for said, read in ((10**400, 10**9), (-5, 0)):
        pod = pod_of(_with("spec", {"terminationGracePeriodSeconds": said}))
        assert pod.grace_s == read


@pytest.mark.parametrize(
    "garbage",
    [
        Garbage(b"\xff\xfe{}"),
        Garbage(b'{"metadata":{"annotations":{"a":"\xff"}}}'),
        Garbage(b"[" * 100_000),
        Garbage(DEEP.encode()),
        Garbage(gzip.compress(json.dumps(WHOLE).encode()), encoding="gzip"),
        Garbage(b"", status=204),
        Garbage(b"x" * 100_000, status=500),
        Garbage(DEEP.encode(), status=429),
        Garbage(b'{"message":["\xf0"],"details":{"causes":[1,{"reason":[]}]}}', status=429),
    ],
)
async def test_call_fails_as_one_of_ours_when_the_answer_is_garbage(
    own: OwnNode, garbage: Garbage
) -> None:
    """Invalid UTF-8, depth, and what was packed though nobody has asked for it."""
    own.server.faults.add(garbage)
    with pytest.raises(KubeError) as raised:
        await own.node.get()
    assert len(str(raised.value)) < 600
    own.server.faults.lift()
    assert (await own.node.get()).name == NODE


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\n",
        b"5\n",
        b"[]\n",
        b'{"type":"MODIFIED"}\n',
        b'{"type":"MODIFIED","object":[]}\n',
        b'{"type":"MODIFIED","object":{"metadata":{"resourceVersion":5}}}\n',
        b'{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"\\ud800"}}}\n',
        b'{"type":["x"],"object":{"metadata":{"resourceVersion":"5"}}}\n',
        b'{"type":"ERROR","object":{"code":"x","message":{}}}\n',
        b'{"type":"ERROR","object":{"code":true}}\n',
        b'{"type":"ERROR","object":' + DEEP.encode() + b"}\n",
        b"[" * 100_000 + b"\n",
    ],
)
async def test_watch_fails_as_one_of_ours_when_a_line_is_garbage(own: OwnNode, line: bytes) -> None:
    """And begins with a list after that, or where it was."""
    follower = Follower(own.client, NODES, f"metadata.name={NODE}")
    own.server.faults.add(Garbage(line), verb="watch")
    with pytest.raises(KubeError):
        async for _ in follower.news():
            pass
    own.server.faults.lift()
    news = follower.news()
    await anext(news)
    await news.aclose()


async def test_list_fails_when_it_goes_on_at_half_a_character(own: OwnNode) -> None:
    """It would be sent back."""
    listed = b'{"items":[],"metadata":{"resourceVersion":"1","continue":"\\ud800"}}'
    own.server.faults.add(Garbage(listed), verb="list")
    with pytest.raises(KubeMalformed, match="goes on at"):
        await anext(Follower(own.client, NODES, "").news())


@asynccontextmanager
async def _trickling() -> AsyncIterator[str]:
    """Answer everything with a line that never ends, byte by byte."""

    ended = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"1\r\nx\r\n")
                await asyncio.sleep(0.01)
        finally:
            writer.close()
            ended.set()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
        await ended.wait()  # the client has gone; a transport left open would warn later


async def test_watch_is_given_up_when_a_line_never_ends(tmp_path: Path) -> None:
    """A byte now and then is no news: whoever sits there would make us deaf for good."""
    token = tmp_path / "token"
    token.write_text("t")
    async with _trickling() as url, KubeClient(Place(url, token), None) as client:
        with pytest.raises(KubeUnavailable, match="no answer in time"):
            async with client.lines("/x", 0.1) as lines:
                await anext(lines)
