"""Drills that an annotation of the Node begins: what is believed of it, and when it is over."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import START, TurnedClock, eventually
from tests.support.standings import admitted, in_force, withdrawn
from watcher.errors import ConfigError
from watcher.kube.keys import DRILL
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind
from watcher.sources.kubernetes import opened
from watcher.sources.kubernetes_config import KubernetesConfig, wanted
from watcher.sources.kubernetes_drill import NAME, parse_drill
from watcher.sources.road import Site
from watcher.state import State
from watcher.supervise import keep_running

NODE = "node-a"
NOW = START.wall


def said(window_s: int = 60, *, late_s: float = 0) -> str:
    """Return what a person writes at the test's time, or earlier."""
    return f"{NOW - timedelta(seconds=late_s):%Y-%m-%dT%H:%M:%SZ}/{window_s}"


class Listening:
    """The road with a Node, and what was heard of drills on it."""

    def __init__(self, server: FakeApiServer, state: State) -> None:
        self.server, self.state = server, state
        self.inbox: asyncio.Queue[Notice] = asyncio.Queue()

    def annotate(self, text: str | None) -> None:
        """Write the annotation."""
        self.server.cluster.mark_node(NODE, annotations={DRILL: text})

    async def hears(self) -> Notice:
        """Return the next that is heard."""
        async with asyncio.timeout(50):
            return await self.inbox.get()


@asynccontextmanager
async def listening(
    directory: Path, *, annotation: str | None = None, drill: str = "on"
) -> AsyncIterator[Listening]:
    """Run the road as the daemon does, until it has looked at the Node once."""
    token = directory / "token"
    await asyncio.to_thread(token.write_text, ADMIN)
    clock, state = TurnedClock(), State()
    async with fake_api_server() as server:
        server.cluster.add_node(NODE, boot_id="boot-1")
        there = Listening(server, state)
        there.annotate(annotation)
        config = KubernetesConfig(
            node="off", watch="on", url=server.url, token_file=token, drill=drill
        )
        site = Site(Metrics(), clock, state, node=NODE, boot_id="boot-1", run_dir=directory)
        async with opened(config, site) as road:
            tasks = [
                asyncio.create_task(keep_running(one, there.inbox, clock)) for one in road.sources
            ]
            tasks += [asyncio.create_task(keep()) for keep in road.keepers]
            assert road.board is not None
            await eventually(lambda: server.watches)
            try:
                yield there
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


async def test_drill_begins_and_ends_when_the_annotation_comes_and_goes(tmp_path: Path) -> None:
    """Another one begins another drill."""
    async with listening(tmp_path) as there:
        there.annotate(said(60))
        begun = await there.hears()
        assert (begun.kind, begun.source, begun.withdrawn) == (NoticeKind.DRILL, NAME, False)
        assert begun.deadline is not None
        assert begun.deadline.boottime_s == begun.received.boottime_s + 60
        there.annotate(None)
        over = await there.hears()
        assert (over.id, over.withdrawn, over.outcome) == (begun.id, True, "cleared")
        there.annotate(said(30))
        assert (await there.hears()).id != begun.id


async def test_nothing_begins_when_the_annotation_was_there_before(tmp_path: Path) -> None:
    """A drill does not outlive its daemon, so what an earlier one was asked for is over."""
    async with listening(tmp_path, annotation=said(60)) as there:
        there.annotate(said(30))
        begun = await there.hears()
        assert begun.deadline is not None
        assert begun.deadline.boottime_s == begun.received.boottime_s + 30
        assert there.inbox.empty()


async def test_drill_gives_way_when_a_real_notice_comes(tmp_path: Path) -> None:
    """As one that root has begun."""
    async with listening(tmp_path) as there:
        there.annotate(said(60))
        begun = await there.hears()
        admitted(there.state, in_force(left_s=30))
        over = await there.hears()
        assert (over.id, over.outcome) == (begun.id, "replaced")


async def test_drill_is_refused_when_another_or_a_real_notice_is_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One at a time, whoever has begun the other."""
    caplog.set_level(logging.WARNING)
    async with listening(tmp_path) as there:
        roots = in_force("drill-1", NoticeKind.DRILL)
        admitted(there.state, roots)
        there.annotate(said(60))
        await eventually(lambda: "a drill is in force already" in caplog.text)
        withdrawn(there.state, roots)
        admitted(there.state, in_force(left_s=30))
        there.annotate(said(30))
        await eventually(lambda: "no exercise" in caplog.text)
        assert there.inbox.empty()


async def test_nothing_is_heard_when_drills_are_off(tmp_path: Path) -> None:
    """The default: it is an annotation like any other."""
    async with listening(tmp_path, drill="off") as there:
        there.annotate(said(60))
        taint = {"key": "ToBeDeletedByClusterAutoscaler", "value": "x", "effect": "NoSchedule"}
        there.server.cluster.edit_node(NODE, taints=[taint])
        assert (await there.hears()).kind is NoticeKind.TERMINATION
        assert there.inbox.empty()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "120",
        "true",
        "/120",
        "2026-11-30T10:00:00Z",
        "yesterday/120",
        said()[:-2],
        said().replace("/60", "/-60"),
        said().replace("/60", "/6e1"),
        said().replace("/60", "/٦٠"),
        said().replace("/60", "/60000"),
        said(late_s=121),
        said(late_s=-121),
        "x" * 100_000,
    ],
)
def test_annotation_is_refused_when_it_asks_for_nothing_or_not_now(text: str) -> None:
    """Whoever hears of it an hour later, when the API server is back, begins nothing."""
    with pytest.raises(ValueError, match=r"is not an instant and seconds|not within 120 s"):
        parse_drill(text, NOW)


def test_annotation_is_taken_when_clocks_differ_a_little() -> None:
    """It is written by another machine's clock."""
    assert parse_drill(said(30, late_s=-100), NOW) == 30
    assert parse_drill(said(30, late_s=100), NOW) == 30


def test_drills_are_refused_at_start_when_the_node_is_not_heard() -> None:
    """Nobody would hear them."""
    with pytest.raises(ConfigError, match=r"kubernetes\.drill = on needs the Node to be heard"):
        wanted(KubernetesConfig(drill="on"))
