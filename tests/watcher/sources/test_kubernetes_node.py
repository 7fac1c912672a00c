"""The source on the Node: what it hears, and that nothing unknown is taken for good news."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN, Rule, Subject
from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.kinds import NODE as NODE_KIND
from tests.fakes.kube.refusals import internal
from tests.fakes.kube.watch import Order
from tests.support.clocks import TurnedClock
from tests.support.hearing_node import ADVICE, BOOT_ID, SPOT, Ears, annotate, hearing_node
from tests.support.own_node import NODE
from tests.support.told_by_relay import told
from watcher.kube import follow
from watcher.kube.keys import ENDED_BOOT, OUT_OF_SERVICE, STATE
from watcher.notice import NoticeKind
from watcher.sources.kubernetes_node import MARKS, RELAYED


@pytest.fixture
async def ears(
    tmp_path: Path, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Ears]:
    """Hear our Node once it was read; a watch that ends at once is taken for one that lasted."""
    monkeypatch.setattr(follow, "LEAST_WATCH_S", 0.0)
    async with hearing_node(tmp_path, clock) as ears:
        await ears.sees()
        yield ears


async def test_mark_is_heard_when_it_comes_and_withdrawn_when_it_goes(ears: Ears) -> None:
    """Each on its own, and nothing of another Node's."""
    ears.cluster.add_node("node-b", taints=[{"key": SPOT, "effect": "NoSchedule"}])
    ears.taint(ADVICE)
    await ears.hears("rebalance")
    ears.taint(SPOT, ADVICE)
    await ears.hears("preemption")
    ears.taint(ADVICE)
    [gone] = await ears.hears("-preemption")
    assert gone.outcome == "over"


async def test_nothing_is_heard_when_the_node_is_cordoned_or_marked_by_us(ears: Ears) -> None:
    """Or each notice would bring the next one."""
    ears.cluster.edit_node(NODE, unschedulable=True)
    ears.taint("reprieve.dev/reclaim", "node.kubernetes.io/unschedulable", OUT_OF_SERVICE)
    ears.cluster.mark_node(NODE, annotations={STATE: "{}", ENDED_BOOT: "boot-0"})
    await ears.reads()
    assert ears.inbox.empty()


async def test_relayed_notice_is_heard_and_withdrawn_when_its_key_is_removed(ears: Ears) -> None:
    """A person's way to take it back, too."""
    ears.relay(told())
    [notice] = await ears.hears("preemption")
    assert notice.id == "relayed-aws-spot-a"
    ears.relay(told("b", kind=NoticeKind.HARDWARE, deadline=None))
    await ears.hears("hardware")
    annotate(ears.own, None)
    await ears.hears("-preemption", "-hardware")


async def test_marks_are_heard_when_the_relays_word_can_not_be_read(ears: Ears) -> None:
    """What it has said stands, as nobody knows what it says now; and the source says so."""
    ears.relay(told())
    await ears.hears("preemption")
    annotate(ears.own, '{"schema": 3}')
    await ears.is_blind(RELAYED, "schema 3")
    ears.taint(ADVICE)
    await ears.hears("rebalance")
    annotate(ears.own, None)
    await ears.hears("-preemption")
    await ears.sees()


@pytest.mark.parametrize("order", [Order.END, Order.HALF, Order.EXPIRE])
async def test_nothing_is_missed_or_withdrawn_when_the_watch_ends(ears: Ears, order: Order) -> None:
    """In order, within a line, or because the API server has forgotten."""
    ears.taint(ADVICE)
    await ears.hears("rebalance")
    ears.own.server.order(order)
    ears.taint(SPOT, ADVICE)
    await ears.hears("preemption")


async def test_notice_stays_when_the_api_server_is_away(ears: Ears) -> None:
    """Refused, hanging, failing: it is unknown what the Node says, until it is read again."""
    ears.taint(SPOT)
    await ears.hears("preemption")
    await ears.own.server.away()
    await ears.is_blind(MARKS, "Cannot connect")
    ears.own.server.faults.add(internal("etcd"), resource="nodes", times=1)
    ears.own.server.faults.add(Trouble.RESET, resource="nodes", times=1)
    ears.taint(ADVICE)
    await ears.own.server.back()
    await ears.hears("-preemption", "rebalance")
    await ears.sees()


async def test_source_goes_on_when_an_answer_never_comes(tmp_path: Path) -> None:
    """The list hangs, and is given up after the client's limit."""
    clock = TurnedClock()
    async with hearing_node(tmp_path, clock) as ears:
        ears.own.server.faults.add(Trouble.HANG, verb="list")
        ears.taint(SPOT)
        await ears.is_blind(MARKS, "no answer in time")
        ears.own.server.faults.lift()
        await ears.hears("preemption")


async def test_source_goes_on_when_the_token_was_rotated(ears: Ears) -> None:
    """The next watch is opened with what is in the file then."""
    ears.own.server.access.rotate(ADMIN, "tomorrow")
    ears.own.token_file.write_text("tomorrow")
    ears.own.server.order(Order.END)
    ears.taint(SPOT)
    await ears.hears("preemption")
    assert ears.health.blind_since() is None


async def test_source_is_blind_when_the_account_lacks_a_right(ears: Ears) -> None:
    """It says which ones are needed; these are enough."""
    ears.own.server.access.subjects[ADMIN] = Subject("x", (Rule(["get"], ["nodes"]),))
    ears.own.server.order(Order.END)
    await ears.is_blind(MARKS, "needs list and watch on nodes")
    ears.own.server.access.subjects[ADMIN] = Subject("y", (Rule(["list", "watch"], ["nodes"]),))
    ears.taint(SPOT)
    await ears.hears("preemption")


async def test_source_is_blind_when_the_node_is_gone_or_another_machine(ears: Ears) -> None:
    """Neither withdraws anything; the next Node of that name is ours if it is this machine."""
    ears.taint(SPOT)
    await ears.hears("preemption")
    ears.own.server.store.remove(NODE_KIND, "", NODE)
    await ears.is_blind(MARKS, "no such Node")
    ears.facts["instanceId"] = "i-0123"
    ears.cluster.add_node(NODE, provider_id="aws:///z/i-0999")
    await ears.is_blind(MARKS, "not known to be this machine")
    assert ears.inbox.empty()
    ears.cluster.edit_node(NODE, providerID="aws:///z/i-0123")
    await ears.hears("-preemption")
    await ears.sees()


async def test_source_waits_for_the_kubelet_when_the_node_is_of_another_boot(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """What the Node showed before the reboot is history, and may be another machine's."""
    async with hearing_node(tmp_path, clock) as ears:
        ears.taint(SPOT)
        node = ears.cluster.node(NODE)
        node["status"]["nodeInfo"]["bootID"] = "boot-0"
        ears.own.server.store.replace(NODE_KIND, node)
        await ears.is_blind(MARKS, "boot id boot-0")
        node = ears.cluster.node(NODE)
        node["status"]["nodeInfo"]["bootID"] = BOOT_ID
        ears.own.server.store.replace(NODE_KIND, node)
        await ears.hears("preemption")


async def test_notice_of_an_earlier_run_is_withdrawn_when_the_node_no_longer_shows_it(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """And heard no second time where it does."""
    async with hearing_node(tmp_path, clock) as before:
        before.taint(SPOT)
        before.relay(told())
        left = await before.hears("preemption", "preemption")
    async with hearing_node(tmp_path, clock, left) as ears:
        await ears.hears("-preemption", "-preemption")
        ears.relay(told())
        await ears.hears("preemption")
