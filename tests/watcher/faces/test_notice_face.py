"""/v1/notice over HTTP: what is said, who waits for it, and what is more than anybody knows."""

import asyncio
import contextlib
import json
import resource
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.described import check_described
from tests.support.flag_desk import Desk, advice, preemption
from tests.support.served_faces import ServedFaces, served_faces
from watcher.errors import SourceUnavailable
from watcher.faces import notice_face
from watcher.faces.notice_face import PATH, WAITING_LIMIT, NoticeFace
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.policy import stand

LONG = "&wait=50"


class Node:
    """A flag with its state, and what is said of it over HTTP."""

    def __init__(self, desk: Desk, health: SourceHealth, *adopted: Notice) -> None:
        self.desk = desk
        self.health = health
        self.face = NoticeFace(desk.action.word, desk.state, (health,), adopted, desk.clock)
        self.http: ServedFaces | None = None

    def look(self) -> None:
        """Let the source answer that there is nothing."""
        self.health.answered("spot", "absent", self.desk.clock(), took_s=0.001)

    async def ask(self, query: str = "") -> dict[str, Any]:
        """Return a whole answer."""
        assert self.http is not None
        status, body = await self.http.ask(f"{PATH}?{query}")
        assert status == 200, body
        answer: dict[str, Any] = json.loads(body)
        check_described("Word", answer)
        return answer

    async def ask_later(self, waits: int = 1) -> asyncio.Task[dict[str, Any]]:
        """Ask for what comes next; return once so many clients wait."""
        seq = (await self.ask())["seq"]
        task = asyncio.create_task(self.ask(f"after={seq}{LONG}"))
        await eventually(lambda: self.face._waiting == waits)
        return task


@pytest.fixture
def desk(tmp_path: Path, clock: TurnedClock, metrics: Metrics) -> Desk:
    """A run directory with nothing in it."""
    return Desk(tmp_path, clock, metrics)


@pytest.fixture
def health(clock: TurnedClock, metrics: Metrics) -> SourceHealth:
    """A source with one key that has just started."""
    return SourceHealth("aws_imds", ("spot",), clock(), metrics)


Serve = Callable[..., contextlib.AbstractAsyncContextManager[Node]]


@pytest.fixture
def serve(desk: Desk, health: SourceHealth) -> Serve:
    """Serve it as the daemon does."""

    @contextlib.asynccontextmanager
    async def served(*adopted: Notice) -> AsyncIterator[Node]:
        node = Node(desk, health, *adopted)
        async with served_faces({PATH: node.face.notice}) as node.http:
            yield node

    return served


@pytest.fixture
async def node(serve: Serve) -> AsyncIterator[Node]:
    """A node whose source has looked, and has found nothing."""
    async with serve() as node:
        node.look()
        yield node


async def test_answer_holds_the_flag_file_when_a_notice_is_in_force(node: Node) -> None:
    """The same fields with the same values, stamps and seq included."""
    await node.desk.admit(advice(node.desk.clock()))
    await node.desk.admit(preemption(node.desk.clock()))
    answer = await node.ask()
    assert answer["notice"] == node.desk.flag()
    assert (answer["schema"], answer["boot_id"]) == (1, "boot-a")
    assert answer["seq"] == node.desk.flag()["seq"]


async def test_answer_tells_of_the_notice_when_the_flag_file_can_not_be_written(
    node: Node,
) -> None:
    """The state is the truth: a full disk keeps it from nobody who can ask."""
    (node.desk.path / "x").mkdir(parents=True)
    waiting = await node.ask_later()
    with pytest.raises(Exception, match="can't write"):
        await node.desk.admit(preemption(node.desk.clock()))
    assert (await waiting)["notice"]["id"] == "spot"


async def test_answer_says_that_nothing_is_in_force_when_all_sources_have_looked(
    serve: Serve,
) -> None:
    """Before that nobody knows, and 503 says why; a source that goes blind later unsays nothing."""
    async with serve() as node:
        assert node.http is not None
        assert await node.http.ask(f"{PATH}?after=1{LONG}") == (
            503,
            "unknown: aws_imds has not answered yet for spot\n",
        )
        node.look()
        assert (await node.ask())["notice"] is None
        error = SourceUnavailable("GET /spot: HTTP 403", outcome="forbidden")
        error.key = "spot"
        node.health.failed(error, node.desk.clock())
        assert (await node.ask())["notice"] is None


async def test_answer_tells_of_a_notice_when_not_all_sources_have_looked(serve: Serve) -> None:
    """It needs no other's word; that it was withdrawn says nothing of the others."""
    async with serve() as node:
        assert node.http is not None
        spot = preemption(node.desk.clock())
        await node.desk.admit(spot)
        assert (await node.ask())["notice"]["id"] == "spot"
        await node.desk.retire(spot)
        assert (await node.http.ask(PATH))[0] == 503


async def test_answer_is_unknown_when_what_an_earlier_run_has_left_is_not_in_force_yet(
    serve: Serve, desk: Desk
) -> None:
    """A client that asks in the first moment of a restart is not told that it is over."""
    left = preemption(desk.clock())
    async with serve(left) as node:
        assert node.http is not None
        node.look()
        assert (await node.http.ask(PATH))[0] == 503
        node.desk.state.admit(stand(left), node.desk.clock())
        assert (await node.ask())["notice"]["id"] == "spot"


async def test_client_is_answered_when_what_it_waits_for_comes_and_goes(node: Node) -> None:
    """A notice, a more urgent one, one withdrawn, the last withdrawn: each at once."""
    spot, rebalance = preemption(node.desk.clock()), advice(node.desk.clock())
    steps = [
        (node.desk.admit, rebalance, "advice"),
        (node.desk.admit, spot, "spot"),
        (node.desk.retire, spot, "advice"),
        (node.desk.retire, rebalance, None),
    ]
    for change, notice, expected in steps:
        waiting = await node.ask_later()
        await change(notice)
        said = (await waiting)["notice"]
        assert (said and said["id"]) == expected
    assert node.face._waiting == 0


@pytest.mark.parametrize("query", ["", "wait=50", "after=1&wait=50", "after=5000000&wait=0"])
async def test_client_is_answered_at_once_when_there_is_nothing_to_wait_for(
    node: Node, query: str
) -> None:
    """It knows nothing, or something else than what is said now, or does not want to wait."""
    assert (await node.ask(query))["notice"] is None
    assert node.face._waiting == 0


@pytest.mark.parametrize("wait", ["0.05", "999999"])
async def test_client_is_told_the_same_again_when_its_time_is_up(
    node: Node, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    """However long it would wait."""
    monkeypatch.setattr(notice_face, "WAIT_LIMIT_S", 0.1)
    seq = (await node.ask())["seq"]
    assert (await node.ask(f"after={seq}&wait={wait}"))["seq"] == seq


@pytest.mark.parametrize(
    "query",
    [
        "after=-1",
        "after=x",
        "after=",
        "after=" + "9" * 19,
        "wait=x",
        "wait=-1",
        "wait=nan",
        "wait=1e3",
        "wait=inf",
        "wait=" + "9" * 400,
        "after=%EF%BC%91",
    ],
)
async def test_question_is_refused_when_it_is_none(node: Node, query: str) -> None:
    """With the reason, and without waiting."""
    assert node.http is not None
    status, body = await node.http.ask(f"{PATH}?{query}")
    assert (status, " has to be a number, not " in body) == (400, True)


async def test_place_is_free_again_when_a_waiting_client_leaves(node: Node) -> None:
    """Whoever is killed while it waits does not keep the next one from waiting."""
    waiting = await node.ask_later()
    waiting.cancel()
    await eventually(lambda: node.face._waiting == 0)


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Let this process have as many connections as the test makes."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_descriptors")
async def test_notice_reaches_who_waits_when_a_thousand_clients_come(node: Node) -> None:
    """So many wait as there is room for; the others are answered at once, or sent away."""
    seq = (await node.ask())["seq"]
    assert node.http is not None
    host, port = node.http.url.removeprefix("http://").split(":")
    request = f"GET {PATH}?after={seq}{LONG} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    ends: list[bytes] = []
    turns = asyncio.Semaphore(8)

    async def client() -> None:
        try:
            async with turns:  # the system keeps others waiting for a second and more
                reader, writer = await asyncio.open_connection(host, int(port))
            with contextlib.closing(writer):
                writer.write(request.encode())
                ends.append(await reader.read())
        except ConnectionError:
            ends.append(b"")

    clients = [asyncio.create_task(client()) for _ in range(1000)]
    await eventually(lambda: len(ends) >= 1000 - WAITING_LIMIT)
    assert node.face._waiting == WAITING_LIMIT
    assert {b'"notice": null' in end for end in ends if end} == {True}
    before = len(ends)
    await node.desk.admit(preemption(node.desk.clock()))
    assert (await node.ask())["notice"]["id"] == "spot", "nobody keeps a newcomer out"
    async with asyncio.timeout(20):
        await asyncio.gather(*clients)
    assert all(b'"id": "spot"' in end for end in ends[before:])
