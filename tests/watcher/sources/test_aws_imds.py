"""The AWS source against a scripted metadata server: what it hears, and what it never concludes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from tests.support.clocks import START, TurnedClock, eventually
from tests.support.scripted_imds import TOKEN_PATH, Reply, ScriptedImds
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.aws_imds import KEYS, REBALANCE, SPOT, AwsImds
from watcher.sources.level import ABSENCES_TO_WITHDRAW, GRACE_S
from watcher.sources.pace import Pace
from watcher.supervise import keep_running

BODY = '{"action": "terminate", "time": "2026-11-30T10:07:06Z"}'
ADVICE = '{"noticeTime": "2026-11-30T09:58:14Z"}'


@dataclass
class Ears:
    """A source under supervision, and what has come of it."""

    source: AwsImds
    inbox: asyncio.Queue[Notice]

    def heard(self) -> list[Notice]:
        """Take everything out of the inbox."""
        return [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]

    def blind(self, key: str = SPOT) -> bool:
        """Tell whether the key is blind at the moment."""
        return self.source.health.keys[key].blind_since is not None


@asynccontextmanager
async def listening(
    imds: ScriptedImds,
    clock: TurnedClock,
    *,
    adopted: tuple[Notice, ...] = (),
    every_s: float = 0.01,
) -> AsyncIterator[Ears]:
    """Run the source as the daemon does, but a hundred times as fast."""
    async with HttpClient(imds.url) as client:
        health = SourceHealth(AwsImds.name, KEYS, clock(), Metrics())
        source = AwsImds(client, health, clock, adopted)
        for key in source._paces:
            source._paces[key] = Pace(every_s)
        ears = Ears(source, asyncio.Queue())
        running = asyncio.create_task(keep_running(source, ears.inbox, clock))
        try:
            yield ears
        finally:
            assert not running.done(), "the source has ended by itself"
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


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


FAULTS: dict[str, Callable[[ScriptedImds], Reply]] = {
    "forbidden": lambda imds: imds.status(403),
    "unauthorized": lambda imds: imds.status(401),
    "server_error": lambda imds: imds.status(500, b"<html>oops</html>"),
    "redirect": lambda imds: imds.status(302, b"", Location="/latest/meta-data/nothing"),
    "connection": lambda imds: imds.fault("reset"),
    "malformed": lambda imds: imds.status(200, b"<html>Sign in to continue</html>"),
    "unexpected_status": lambda imds: imds.status(204),
    "timeout": lambda imds: imds.fault("hang"),
    "throttled": lambda imds: imds.status(503),
}
SLOW = ("timeout", "throttled")


@pytest.mark.parametrize("outcome", FAULTS)
async def test_source_keeps_the_notice_and_goes_blind_when_fetches_fail(
    imds: ScriptedImds, clock: TurnedClock, outcome: str
) -> None:
    """Far beyond the deadline, no number of failures of any kind counts as an absence."""
    imds.play(SPOT, imds.json(BODY))
    async with listening(imds, clock) as ears:
        await ears.inbox.get()
        clock.turn(120 + GRACE_S + 1)
        imds.play(SPOT, FAULTS[outcome](imds))
        await eventually(ears.blind)
        if outcome not in SLOW:
            await imds.seen(SPOT, imds.count(SPOT) + 2 * ABSENCES_TO_WITHDRAW + 2)
        assert ears.heard() == []
        health = ears.source.health.keys[SPOT]
        assert health.blind_since == clock()
        assert health.last_answer == "present"
        counted = ears.source.health._metrics.fetches.labels(AwsImds.name, outcome)
        assert counted._value.get() >= 1


async def test_source_keeps_the_notice_when_absences_are_interrupted(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Nine times "not there", a failure, nine times again: not ten in a row."""
    imds.play(SPOT, imds.json(BODY))
    async with listening(imds, clock) as ears:
        await ears.inbox.get()
        clock.turn(10_000)
        gone = [imds.status(404)] * (ABSENCES_TO_WITHDRAW - 1)
        before = imds.count(SPOT)
        imds.play(SPOT, *gone, imds.status(500), *gone, imds.json(BODY))
        await imds.seen(SPOT, before + 2 * len(gone) + 4)
        assert ears.heard() == []


async def test_source_withdraws_when_the_key_has_been_gone_long_enough(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Not before deadline and grace have passed, whatever the number of absences."""
    imds.play(SPOT, imds.json(BODY))
    async with listening(imds, clock) as ears:
        first = await ears.inbox.get()
        imds.play(SPOT, imds.status(404))
        await imds.seen(SPOT, imds.count(SPOT) + 2 * ABSENCES_TO_WITHDRAW)
        assert ears.heard() == []
        clock.turn(120 + GRACE_S)
        last = await ears.inbox.get()
    assert last.withdrawn
    assert last.id == first.id


async def test_source_sees_again_when_a_failure_passes(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """A notice that came while the source was blind is heard at the first good answer."""
    imds.play(SPOT, imds.status(500))
    async with listening(imds, clock) as ears:
        await imds.seen(SPOT, 3)
        assert ears.blind()
        imds.play(SPOT, imds.json(BODY))
        await ears.inbox.get()
        assert not ears.blind()


async def test_source_is_blind_when_only_one_key_fails(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Good answers about rebalances do not hide that preemptions can't be seen."""
    imds.play(SPOT, imds.status(403))
    async with listening(imds, clock) as ears:
        await imds.seen(REBALANCE, 3)
        await eventually(lambda: not ears.blind(REBALANCE))
        assert ears.blind(SPOT)
        assert ears.source.health.blind_since() is not None


async def test_source_is_blind_when_there_is_no_token(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Without a token nothing is asked for, and nothing is concluded."""
    imds.play(TOKEN_PATH, imds.status(403))
    async with listening(imds, clock) as ears:
        await imds.seen(TOKEN_PATH, 3)
        assert ears.blind(SPOT)
        assert imds.count(SPOT) == 0
        assert ears.source.health.keys[SPOT].why == "PUT /latest/api/token: HTTP 403"


async def test_source_hears_in_a_storm_of_refused_tokens_when_one_gets_through(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Each poll asks with the old token and once with a new one; that is enough."""
    imds.play(SPOT, *([imds.status(401)] * 7), imds.json(BODY))
    async with listening(imds, clock) as ears:
        notice = await ears.inbox.get()
        assert notice.action == "terminate"
        await eventually(lambda: not ears.blind())


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
