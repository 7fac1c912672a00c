"""Following objects: list, watch, bookmarks, and every way in which a watch ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.refusals import expired, internal
from tests.fakes.kube.watch import Order
from tests.support.clocks import eventually
from tests.support.own_node import OwnNode
from watcher.errors import KubeError, KubeGone, KubeUnavailable
from watcher.kube import follow
from watcher.kube.follow import Changed, Follower, Listed, Still
from watcher.kube.node import NODES


class Heard:
    """A follower of our own Node, and all that it has said."""

    def __init__(self, own: OwnNode) -> None:
        self.own = own
        self.follower = Follower(own.client, NODES, "metadata.name=node-a")
        self.lists = 0
        self.changes: list[bool] = []
        self.stills = 0
        self.errors: list[KubeError] = []

    async def run(self) -> None:
        """Follow, again after each error as a supervisor does."""
        while True:
            try:
                async for news in self.follower.news():
                    self._note(news)
            except KubeError as error:
                self.errors.append(error)
                await asyncio.sleep(0.01)

    def _note(self, news: Listed | Changed | Still) -> None:
        match news:
            case Listed():
                self.lists += 1
            case Changed():
                spec = news.object.get("spec") or {}
                self.changes.append(spec.get("unschedulable", False))
            case Still():
                self.stills += 1

    def cordon(self, *, is_on: bool) -> None:
        """Change the Node, as a person does."""
        self.own.cluster.edit_node("node-a", unschedulable=is_on or None)


@asynccontextmanager
async def _following(own: OwnNode) -> AsyncIterator[Heard]:
    heard = Heard(own)
    task = asyncio.create_task(heard.run())
    try:
        await eventually(lambda: own.server.watches)
        yield heard
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def heard(own: OwnNode, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Heard]:
    """Follow our own Node; a watch that ends at once is taken for one that lasted."""
    monkeypatch.setattr(follow, "LEAST_WATCH_S", 0.0)
    async with _following(own) as heard:
        yield heard


async def test_follower_tells_what_is_there_and_each_change_of_it(heard: Heard) -> None:
    """And nothing of another Node."""
    heard.own.cluster.add_node("node-b")
    heard.cordon(is_on=True)
    heard.cordon(is_on=False)
    await eventually(lambda: heard.changes == [True, False])
    assert (heard.lists, heard.errors) == (1, [])


@pytest.mark.parametrize("order", [Order.END, Order.HALF])
async def test_follower_goes_on_where_it_was_when_the_watch_ends(
    heard: Heard, order: Order
) -> None:
    """In order or within a line: without a list, and without losing what came meanwhile."""
    heard.own.server.order(order)
    heard.cordon(is_on=True)
    await eventually(lambda: heard.changes == [True])
    assert heard.lists == 1
    assert len(heard.errors) == (order is Order.HALF)
    assert all(type(error) is KubeUnavailable for error in heard.errors)


async def test_follower_lists_again_when_its_version_is_forgotten(heard: Heard) -> None:
    """410 in the stream; what has come meanwhile is in the list."""
    heard.own.server.order(Order.EXPIRE)
    await eventually(lambda: heard.lists == 2)
    heard.cordon(is_on=True)
    await eventually(lambda: heard.changes == [True])


async def test_bookmark_saves_a_list_when_all_before_it_is_forgotten(heard: Heard) -> None:
    """The own Node may not change for days, and the cluster does all the time."""
    heard.own.cluster.add_node("node-b")
    heard.own.server.order(Order.BOOKMARK)
    before = heard.stills
    await eventually(lambda: heard.stills > before)
    heard.own.server.store.oldest = heard.own.server.store.version
    heard.own.server.order(Order.END)
    heard.cordon(is_on=True)
    await eventually(lambda: heard.changes == [True])
    assert heard.lists == 1


async def test_follower_says_that_nothing_is_known_while_the_server_is_away(heard: Heard) -> None:
    """And goes on by itself once it is back."""
    await heard.own.server.away()
    await eventually(lambda: len(heard.errors) > 1)
    heard.cordon(is_on=True)
    await heard.own.server.back()
    await eventually(lambda: heard.changes == [True])


async def test_follower_goes_on_with_the_new_token_when_the_old_one_is_void(heard: Heard) -> None:
    """The watch that is open stays open; the next one is opened with what is in the file."""
    heard.own.server.access.rotate(ADMIN, "tomorrow")
    heard.own.token_file.write_text("tomorrow")
    heard.own.server.order(Order.END)
    heard.cordon(is_on=True)
    await eventually(lambda: heard.changes == [True])
    assert heard.errors == []


async def test_follower_lists_in_parts_when_there_are_many_objects(
    own: OwnNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And begins anew when the server has forgotten the version of the first part meanwhile."""
    monkeypatch.setattr(follow, "PAGE", 2)
    for number in range(4):
        own.cluster.add_node(f"node-{number}")
    own.server.faults.add(expired(1, 2), verb="list", times=1)
    follower = Follower(own.client, NODES, "")
    with pytest.raises(KubeGone):
        await anext(follower.news())
    news = follower.news()
    parts = [await anext(news) for _ in range(3)]
    assert [
        (len(one.objects), one.is_first, one.is_last) for one in parts if isinstance(one, Listed)
    ] == [(2, True, False), (2, False, False), (1, False, True)]


async def test_follower_misses_nothing_when_an_object_comes_between_two_parts(
    own: OwnNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch begins where the first part was read."""
    monkeypatch.setattr(follow, "PAGE", 2)
    for number in range(2):
        own.cluster.add_node(f"node-{number}")
    news = Follower(own.client, NODES, "").news()
    await anext(news)
    own.cluster.add_node("a-node-before-all-others")
    assert [type(await anext(news)) for _ in range(2)] == [Listed, Still]
    change = await anext(news)
    assert isinstance(change, Changed)
    assert change.object["metadata"]["name"] == "a-node-before-all-others"


async def test_follower_fails_when_lists_and_watches_are_refused(own: OwnNode) -> None:
    """Each failure is told: it is unknown what is there."""
    follower = Follower(own.client, NODES, "metadata.name=node-a")
    own.server.faults.add(internal("etcd"), verb="list", times=1)
    with pytest.raises(KubeUnavailable):
        await anext(aiter(follower.news()))
    own.server.faults.add(expired(1, 2), verb="watch")
    news = follower.news()
    assert isinstance(await anext(news), Listed)
    with pytest.raises(KubeGone):
        await anext(news)


async def test_follower_fails_when_a_watch_ends_as_soon_as_it_has_begun(own: OwnNode) -> None:
    """Or a proxy that ends every watch would have us ask without a pause."""
    news = Follower(own.client, NODES, "metadata.name=node-a").news()
    assert [type(await anext(news)) for _ in range(2)] == [Listed, Still]
    own.server.order(Order.END)
    with pytest.raises(KubeUnavailable, match="as soon as"):
        await anext(news)


async def test_follower_begins_anew_when_what_came_was_of_no_use(heard: Heard) -> None:
    """Who can't read a change asks for the whole again."""
    heard.follower.forget()
    heard.own.server.order(Order.END)
    await eventually(lambda: heard.lists == 2)


async def test_watch_is_closed_with_the_news_that_came_by_it(own: OwnNode) -> None:
    """And not some time later, when its connection may be nobody's any more."""
    news = Follower(own.client, NODES, "metadata.name=node-a").news()
    assert [type(await anext(news)) for _ in range(2)] == [Listed, Still]
    connector = own.client._session.connector if own.client._session else None
    assert connector is not None
    assert len(connector._acquired) == 1
    await news.aclose()
    assert not connector._acquired
