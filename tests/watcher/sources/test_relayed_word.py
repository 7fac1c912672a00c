"""Which of the relay's notices are in force: not those of another boot, and none for ever."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.kube.watch import Order
from tests.support.clocks import START, TurnedClock
from tests.support.hearing_node import annotate, hearing_node
from tests.support.told_by_relay import told
from watcher.notice import Moment, NoticeKind
from watcher.sources.kubernetes_node import RELAYED
from watcher.sources.kubernetes_windows import OVER_AFTER_S
from watcher.sources.reading import ForInstance

SPOT_OVER_S = 120 + OVER_AFTER_S[NoticeKind.PREEMPTION]


def _before(seconds: float) -> Moment:
    return replace(START, wall=START.wall - timedelta(seconds=seconds))


@pytest.mark.parametrize("changes", [False, True])
async def test_notice_is_over_when_the_node_has_outlived_it(
    tmp_path: Path, clock: TurnedClock, *, changes: bool
) -> None:
    """Nobody takes a queue's word back; it is heard no second time, nor by the next daemon."""
    async with hearing_node(tmp_path, clock) as ears:
        await ears.sees()
        text = ears.relay(told())
        await ears.hears("preemption")
        clock.turn(SPOT_OVER_S - 1)
        await ears.reads()
        assert ears.inbox.empty()
        clock.turn(2)
        if changes:
            ears.cluster.mark_node("node-a", labels={"any": "change"})
        else:
            ears.own.server.order(Order.BOOKMARK)
        [gone] = await ears.hears("-preemption")
        assert gone.outcome == "survived"
        await ears.reads()
        assert ears.inbox.empty()
    async with hearing_node(tmp_path, clock, annotation=text) as restarted:
        await restarted.sees()
        await restarted.reads()
        assert restarted.inbox.empty()


async def test_notice_without_an_end_stays_when_it_is_old(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """Work on a host may be late by days."""
    async with hearing_node(tmp_path, clock) as ears:
        await ears.sees()
        ears.relay(told(kind=NoticeKind.MAINTENANCE))
        await ears.hears("maintenance")
        clock.turn(7 * 86_400)
        await ears.reads()
        assert ears.inbox.empty()


async def test_notice_is_heard_when_the_clock_is_wrong(tmp_path: Path, clock: TurnedClock) -> None:
    """One that comes as a change is new, whatever the clock says, and stands as long as others."""
    clock.turn(86_400)
    async with hearing_node(tmp_path, clock) as ears:
        await ears.sees()
        ears.relay(told())
        [notice] = await ears.hears("preemption")
        assert notice.deadline is not None
        assert notice.deadline.left_s(clock()) == 0
        await ears.reads()
        assert ears.inbox.empty()


async def test_notice_stays_when_it_may_be_the_one_that_can_not_be_read(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """A newer relay's kind, say; what can be read beside it is heard."""
    async with hearing_node(tmp_path, clock) as ears:
        await ears.sees()
        ears.relay(told())
        await ears.hears("preemption")
        text = ears.relay(told("b", kind=NoticeKind.HARDWARE, deadline=None))
        await ears.hears("hardware")
        annotate(ears.own, text.replace('"kind":"preemption"', '"kind":"teleport"'))
        await ears.is_blind(RELAYED, "no kind that is known")
        annotate(ears.own, text.replace('"kind":"hardware"', '"kind":"rebalance"', 1))
        await ears.sees()
        assert ears.inbox.empty()
        annotate(ears.own, text.replace('"kind":"preemption"', '"kind":7').replace("-b", "-c"))
        await ears.hears("hardware")
        annotate(ears.own, None)
        await ears.hears("-preemption", "-hardware", "-hardware")


@pytest.mark.parametrize(
    ("said", "boot_id", "expected"),
    [
        (told(received=_before(5001)), "boot-0", []),
        (told(received=_before(4999)), "boot-0", ["preemption"]),
        (told(received=_before(5001)), "boot-1", ["preemption"]),
        (told(received=_before(5001)), "", ["preemption"]),
        (replace(told(), over_if_booted_after=_before(5001).wall), "boot-1", []),
        (replace(told(), over_if_booted_after=_before(4999).wall), "boot-1", ["preemption"]),
    ],
    ids=["earlier", "kubelet-late", "ours", "unknown", "ended-by-boot", "said-after-boot"],
)
async def test_notice_is_void_when_it_is_of_an_earlier_boot(
    tmp_path: Path, clock: TurnedClock, said: ForInstance, boot_id: str, expected: list[str]
) -> None:
    """By the boot that it names, or as a boot ends what it says; this one began 5,000 s ago."""
    async with hearing_node(tmp_path, clock) as ears:
        await ears.sees()
        ears.relay(said, boot_id=boot_id)
        await ears.reads()
        await ears.hears(*expected)
