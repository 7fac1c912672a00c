"""The AWS source against a scripted metadata server: what it hears, asks for, and how often."""

from dataclasses import replace
from math import inf

import pytest

from tests.support.clocks import START, TurnedClock, eventually
from tests.support.hearing_imds import BODY, ImdsEars, listening
from tests.support.scripted_imds import PREFIX, TOKEN_PATH, ScriptedImds
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.aws_imds import Renewing
from watcher.sources.aws_imds_events import ASG_STATE, SCHEDULED
from watcher.sources.aws_imds_spot import REBALANCE, SPOT, TERMINATION_TIME
from watcher.sources.level import GRACE_S

IDENTITY_PATH = "/latest/dynamic/instance-identity/document"
ADVICE = '{"noticeTime": "2026-11-30T09:58:14Z"}'


async def test_source_hears_a_preemption_once_when_it_is_shown_for_long(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """One notice, with the deadline of the first sighting, however often it is polled."""
    async with listening(imds, clock) as ears:
        await imds.seen(SPOT, 3)
        imds.play(SPOT, imds.json(BODY))
        notice = await ears.hears()
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
        assert (await ears.hears()).kind is NoticeKind.REBALANCE
        imds.play(SPOT, imds.json(BODY))
        assert (await ears.hears()).kind is NoticeKind.PREEMPTION
        await imds.seen(REBALANCE, imds.count(REBALANCE) + 5)
        assert ears.heard() == []


async def test_source_learns_who_we_are_when_it_has_asked_what_matters(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Who we are never stands before whether we are going, and is asked for once."""
    imds.play("instance-id", imds.status(200, b"i-0123456789abcdef0\n"))
    imds.play("instance-life-cycle", imds.status(200, b"interruptible-capacity-reservation"))
    imds.play(IDENTITY_PATH, imds.json('{"instanceId": "i-0123456789abcdef0", "region": "eu"}'))
    async with listening(imds, clock) as ears:
        await eventually(lambda: len(ears.health.facts) == 3)
        imds.play(SPOT, imds.json(BODY))
        notice = await ears.hears()
        await imds.seen(SCHEDULED, imds.count(SCHEDULED) + 3)
    assert notice.instance_id == "i-0123456789abcdef0"
    assert ears.health.facts["instanceLifeCycle"] == "interruptible-capacity-reservation"
    others = [path for _, path in imds.requests if path.startswith(PREFIX) and SPOT not in path]
    assert others[0] == PREFIX + ASG_STATE
    assert imds.count("instance-id") == imds.count(IDENTITY_PATH) == 1


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
        notice = await ears.hears()
        assert notice.instance_id is None
        assert notice.id.endswith("-unknown")
        assert not ears.is_blind(SPOT)


async def test_source_keeps_two_connections_when_it_polls_every_key(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Spot alone on one, all else on the other, over many polls and with one token."""
    async with listening(imds, clock):
        await imds.seen(SPOT, 30)
        await imds.seen(SCHEDULED, 30)
    assert len(imds.connections) == 2
    assert {PREFIX + SPOT} in [paths - {TOKEN_PATH} for paths in imds.connections.values()]
    assert imds.count(TOKEN_PATH) <= 2


def make_renewal_due(ears: ImdsEars) -> None:
    """Let the token that both lanes share be near its end, for the lane that renews it."""
    renewing = ears.source.lanes[1]._session
    assert isinstance(renewing, Renewing)
    tokens = renewing._session._tokens
    assert tokens.token is not None
    tokens.token = replace(tokens.token, renew_before_s=inf)


@pytest.mark.parametrize("path", [SCHEDULED, ASG_STATE, REBALANCE, TERMINATION_TIME, TOKEN_PATH])
async def test_source_polls_spot_on_when_the_answer_to_another_question_hangs(
    imds: ScriptedImds, clock: TurnedClock, path: str
) -> None:
    """While one request for the other key is open, Spot is asked and heard many times."""
    async with listening(imds, clock, rest_limit_s=25) as ears:
        await imds.seen(SPOT, 3)
        imds.play(path, imds.fault("hang"))
        if path == TOKEN_PATH:
            make_renewal_due(ears)
        before = imds.count(path)
        await imds.seen(path, before + 1)
        polls = imds.count(SPOT)
        imds.play(SPOT, imds.json(BODY))
        assert (await ears.hears()).kind is NoticeKind.PREEMPTION
        await imds.seen(SPOT, polls + 20)
        assert imds.count(path) == before + 1, "the hanging request is still the only one"


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
        last = await ears.hears()
    assert last.withdrawn
    assert last.id == adopted.id
