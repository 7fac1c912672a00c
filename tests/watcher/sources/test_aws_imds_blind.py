"""The AWS source when answers fail: what it never concludes from that, and when it withdraws."""

from collections.abc import Callable

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.hearing_imds import BODY, listening
from tests.support.scripted_imds import TOKEN_PATH, Reply, ScriptedImds
from watcher.sources.aws_diagnosis import FORWARDED
from watcher.sources.aws_imds import AwsImds
from watcher.sources.aws_imds_spot import REBALANCE, SPOT
from watcher.sources.level import ABSENCES_TO_WITHDRAW, GRACE_S

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
        await ears.hears()
        clock.turn(120 + GRACE_S + 1)
        imds.play(SPOT, FAULTS[outcome](imds))
        await eventually(ears.is_blind)
        if outcome not in SLOW:
            await imds.seen(SPOT, imds.count(SPOT) + 2 * ABSENCES_TO_WITHDRAW + 2)
        assert ears.heard() == []
        health = ears.health.keys[SPOT]
        assert health.blind_since == clock()
        assert health.last_answer == "present"
        counted = ears.health._metrics.fetches.labels(AwsImds.name, outcome)
        assert counted._value.get() >= 1


async def test_source_keeps_the_notice_when_absences_are_interrupted(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Nine times "not there", a failure, nine times again: not ten in a row."""
    imds.play(SPOT, imds.json(BODY))
    async with listening(imds, clock) as ears:
        await ears.hears()
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
        first = await ears.hears()
        imds.play(SPOT, imds.status(404))
        await imds.seen(SPOT, imds.count(SPOT) + 2 * ABSENCES_TO_WITHDRAW)
        assert ears.heard() == []
        clock.turn(120 + GRACE_S)
        last = await ears.hears()
    assert last.withdrawn
    assert last.id == first.id


async def test_source_sees_again_when_a_failure_passes(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """A notice that came while the source was blind is heard at the first good answer."""
    imds.play(SPOT, imds.status(500))
    async with listening(imds, clock) as ears:
        await imds.seen(SPOT, 3)
        assert ears.is_blind()
        imds.play(SPOT, imds.json(BODY))
        await ears.hears()
        assert not ears.is_blind()


async def test_source_is_blind_when_only_one_key_fails(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Good answers about rebalances do not hide that preemptions can't be seen."""
    imds.play(SPOT, imds.status(403))
    async with listening(imds, clock) as ears:
        await imds.seen(REBALANCE, 3)
        await eventually(lambda: not ears.is_blind(REBALANCE))
        assert ears.is_blind(SPOT)
        assert ears.health.blind_since() is not None


async def test_source_is_blind_when_there_is_no_token(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Without a token nothing is asked for, and nothing is concluded."""
    imds.play(TOKEN_PATH, imds.status(403))
    async with listening(imds, clock) as ears:
        await imds.seen(TOKEN_PATH, 3)
        assert ears.is_blind(SPOT)
        assert imds.count(SPOT) == 0
        why = ears.health.keys[SPOT].why
        assert why.startswith("PUT /latest/api/token: HTTP 403")
        assert why.endswith(FORWARDED)


async def test_source_hears_in_a_storm_of_refused_tokens_when_one_gets_through(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Each poll asks with the old token and once with a new one; that is enough."""
    imds.play(SPOT, *([imds.status(401)] * 7), imds.json(BODY))
    async with listening(imds, clock) as ears:
        notice = await ears.hears()
        assert notice.action == "terminate"
        await eventually(lambda: not ears.is_blind())
