"""The AWS source against a scripted metadata server: what it hears, asks for, and how often."""

import asyncio
from collections.abc import Container

import pytest

from tests.support.clocks import START, TurnedClock, eventually
from tests.support.listening import BODY, listening
from tests.support.scripted_imds import ScriptedImds
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.aws_imds import KEYS, REBALANCE, SPOT
from watcher.sources.level import GRACE_S
from watcher.sources.pace import Pace

ADVICE = '{"noticeTime": "2026-11-30T09:58:14Z"}'


async def test_source_hears_a_preemption_once_when_it_is_shown_for_long(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """One notice, with the deadline of the first sighting, however often it is polled."""
    async with listening(imds, clock) as ears:
        await imds.seen(SPOT, 3)
        imds.play(SPOT, imds.json(BODY))
        notice = await ears.inbox.get()
        clock.turn(30)
        await imds.seen(SPOT, imds.count(SPOT) + 5)
        assert ears.heard() == []
    assert notice.kind is NoticeKind.PREEMPTION
    assert notice.deadline == Deadline.after(START, 120)


async def test_source_hears_advice_and_preemption_separately_when_both_are_shown(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """One state a key: "no advice" says nothing about a preemption, nor the other way round."""
    imds.play(REBALANCE, imds.json(ADVICE))
    async with listening(imds, clock) as ears:
        assert (await ears.inbox.get()).kind is NoticeKind.REBALANCE
        imds.play(SPOT, imds.json(BODY))
        assert (await ears.inbox.get()).kind is NoticeKind.PREEMPTION
        await imds.seen(REBALANCE, imds.count(REBALANCE) + 5)
        assert ears.heard() == []


async def test_source_polls_first_and_learns_the_instance_id_later_when_started(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Who we are never stands before whether we are going."""
    imds.play("instance-id", imds.status(200, b"i-0123456789abcdef0\n"))
    async with listening(imds, clock) as ears:
        await eventually(lambda: ears.source._instance_id)
        imds.play(SPOT, imds.json(BODY))
        notice = await ears.inbox.get()
    assert notice.instance_id == "i-0123456789abcdef0"
    assert [path.rpartition("/")[2] for _, path in imds.requests[:4]] == [
        "token",
        "instance-action",
        "rebalance",
        "instance-id",
    ]
    assert imds.count("instance-id") == 1


@pytest.mark.parametrize("reply", ["hang", "forbidden", "html"])
async def test_source_hears_without_an_instance_id_when_it_can_not_be_read(
    imds: ScriptedImds, clock: TurnedClock, reply: str
) -> None:
    """It is a nicety: its failure neither gates a notice nor makes the source blind."""
    replies = {
        "hang": imds.fault("hang"),
        "forbidden": imds.status(403),
        "html": imds.status(200, b"<html>hello</html>"),
    }
    imds.play("instance-id", replies[reply])
    async with listening(imds, clock) as ears:
        await imds.seen("instance-id")
        imds.play(SPOT, imds.json(BODY))
        notice = await ears.inbox.get()
        assert notice.instance_id is None
        assert notice.id.endswith("-unknown")
        assert not ears.blind(SPOT)


async def test_source_keeps_one_connection_when_it_polls_both_keys(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Token, both keys and the instance id share it, over many polls."""
    async with listening(imds, clock):
        await imds.seen(SPOT, 30)
    assert imds.count(REBALANCE) > 0
    assert len(imds.connections) == 1


async def polls_of(
    imds: ScriptedImds, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch, *, for_s: float
) -> list[str]:
    """Return the keys that are asked for in so many seconds of made-up time."""
    virtual_s, real_sleep, over = 0.0, asyncio.sleep, asyncio.Event()

    async def sleep(delay_s: float) -> None:
        nonlocal virtual_s
        if virtual_s + delay_s > for_s:
            over.set()
            await asyncio.Event().wait()
        virtual_s += delay_s
        await real_sleep(0)

    async with listening(imds, clock) as ears:
        ears.source._clock = lambda: virtual_s
        ears.source._paces = {SPOT: Pace(1.0), REBALANCE: Pace(5.0), "instance-id": Pace(5.0)}
        monkeypatch.setattr("watcher.sources.aws_imds.asyncio.sleep", sleep)
        async with asyncio.timeout(20):
            await over.wait()
    return [path.rpartition("/")[2] for _, path in imds.requests if path.endswith(KEYS)]


async def test_source_polls_each_key_on_its_grid_when_time_passes(
    imds: ScriptedImds, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 30 s the server sees 31 looks at Spot and 7 at rebalances, Spot first each time."""
    keys = await polls_of(imds, clock, monkeypatch, for_s=30.5)
    once = ["instance-action", "rebalance"] + ["instance-action"] * 4
    assert keys == once * 6 + ["instance-action", "rebalance"]


@pytest.mark.parametrize(
    ("status", "polls"),
    [(429, range(20, 41)), (503, range(20, 41)), (500, (101,))],
    ids=["429", "503", "500"],
)
async def test_source_polls_less_often_only_when_throttled(
    imds: ScriptedImds,
    clock: TurnedClock,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    polls: Container[int],
) -> None:
    """In 100 s at least once in 5 s in any case; other failures change nothing in the pace."""
    imds.play(SPOT, imds.status(status))
    keys = await polls_of(imds, clock, monkeypatch, for_s=100.5)
    assert keys.count("instance-action") in polls
    assert keys.count("rebalance") == 21


async def test_source_says_nothing_new_when_an_adopted_notice_is_shown(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """After a restart the first run's id and deadline stay, though the new run knows less."""
    adopted = Notice(
        id="aws-spot-terminate-2026-11-30T10:07:06Z-i-1",
        kind=NoticeKind.PREEMPTION,
        source="aws_imds",
        received=START,
        deadline=Deadline.after(START, 60),
        action="terminate",
        detail={"time": "2026-11-30T10:07:06Z"},
    )
    imds.play(SPOT, imds.json(BODY))
    async with listening(imds, clock, adopted=(adopted,)) as ears:
        await imds.seen(SPOT, 5)
        assert ears.heard() == []
        imds.play(SPOT, imds.status(404))
        clock.turn(60 + GRACE_S)
        last = await ears.inbox.get()
    assert last.withdrawn
    assert last.id == adopted.id
