"""Requests for another node as notices: heard once, from those who were named."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from watcher.errors import SourceUnavailable
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind
from watcher.sources import ROADS, trainer_requests
from watcher.sources.road import Site
from watcher.sources.trainer_requests import (
    DAY_S,
    NAME,
    OVER_AFTER_S,
    ROAD,
    TrainerRequestsConfig,
    user_numbers,
)
from watcher.state import State

GOLDEN = Path(__file__).parents[2] / "contract" / "request_v1.json"
MINE = TrainerRequestsConfig(uids=(os.getuid(),))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look as often as a test has patience for."""
    monkeypatch.setattr(trainer_requests, "LOOK_EVERY_S", 0.005)


class Node:
    """A node with a run directory and a clock, on which the source is heard."""

    def __init__(self, run_dir: Path) -> None:
        self.clock = TurnedClock()
        self.requests = run_dir / "requests"
        self.requests.mkdir()
        self._run_dir = run_dir
        self._metrics = Metrics()

    def ask(self, name: str) -> None:
        """Ask for another node now."""
        said = json.loads(GOLDEN.read_text()) | {"made_boottime_s": self.clock().boottime_s}
        (self.requests / f"{name}.json").write_text(json.dumps(said))

    async def heard(self, adopted: tuple[Notice, ...] = ()) -> AsyncGenerator[Notice]:
        """Hear what is asked for, as a daemon that has just been started."""
        boot_id = json.loads(GOLDEN.read_text())["boot_id"]
        site = Site(
            self._metrics,
            self.clock,
            State(),
            adopted=adopted,
            boot_id=boot_id,
            run_dir=self._run_dir,
        )
        async with ROAD.opened(MINE, site) as opened:
            [source] = opened.sources
            async for notice in source.notices():
                yield notice


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node."""
    return Node(tmp_path)


async def test_request_becomes_a_notice_once_when_its_user_may_ask(node: Node) -> None:
    """With what the guard has found; a second one of the same day is not heard."""
    node.ask("r-1")
    async with aclosing(node.heard()) as heard:
        notice = await anext(heard)
        assert (notice.id, notice.kind) == ("node-request-r-1", NoticeKind.NODE_REQUEST)
        assert notice.detail["reason"] == "straggler"
        node.ask("r-2")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(heard), 0.2)


async def test_request_is_heard_again_when_a_day_has_passed(node: Node) -> None:
    """The first is over by then: the node has outlived it."""
    node.ask("r-1")
    async with aclosing(node.heard()) as heard:
        await anext(heard)
        node.clock.turn(OVER_AFTER_S + 1)
        over = await anext(heard)
        assert (over.withdrawn, over.outcome) == (True, "survived")
        node.clock.turn(DAY_S)
        node.ask("r-2")
        assert (await anext(heard)).id == "node-request-r-2"


async def test_request_is_no_news_when_the_daemon_was_started_again(node: Node) -> None:
    """It stands already, and no other is heard beside it."""
    node.ask("r-1")
    async with aclosing(node.heard()) as heard:
        first = await anext(heard)
    node.ask("r-2")
    async with aclosing(node.heard((first,))) as heard:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(heard), 0.2)


async def test_source_is_blind_when_the_directory_cannot_be_read(node: Node) -> None:
    """A link in its place, say."""
    node.requests.rmdir()
    node.requests.symlink_to("/")
    async with aclosing(node.heard()) as heard:
        with pytest.raises(SourceUnavailable, match="requests/ can't be read"):
            await anext(heard)


def test_nobody_is_heard_when_nobody_was_named() -> None:
    """It is off by default."""
    assert ROADS[NAME] is ROAD
    assert ROAD.wanted(TrainerRequestsConfig()) == {}
    assert ROAD.wanted(MINE) == {NAME: {NoticeKind.NODE_REQUEST}}


@pytest.mark.parametrize("value", ["", "root", "-1", None, [True], ["1", None], 2**32 - 1, "1,,2"])
def test_users_are_refused_when_they_are_no_numbers(value: object) -> None:
    """Names are not looked up: in a container they are other people's."""
    with pytest.raises(ValueError, match="user numbers"):
        user_numbers(value)


@pytest.mark.parametrize("value", ["0, 1000", [0, 1000], ["0", "1000"]])
def test_users_are_read_when_they_are_numbers(value: object) -> None:
    """From the environment, or a file."""
    assert user_numbers(value) == (0, 1000)


def test_nobody_is_named_when_the_list_is_empty() -> None:
    """As check-config prints what holds by default."""
    assert user_numbers([]) == ()
