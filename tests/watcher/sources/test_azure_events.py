"""The Azure source against a server: what it hears, and what it never concludes from silence."""

import logging
from collections.abc import AsyncIterator, Callable

import pytest

from tests.support.azure_bodies import ME, body, document, event
from tests.support.clocks import TurnedClock, eventually
from tests.support.hearing_azure import hearing_azure
from tests.support.scripted_imds import Reply, ScriptedImds
from watcher.notice import NoticeKind
from watcher.sources.azure_config import AzureConfig
from watcher.sources.azure_document import parse_document
from watcher.sources.azure_events import EVENTS, NAME, AzureEvents
from watcher.sources.azure_schedule import LOOKS_TO_WITHDRAW
from watcher.sources.azure_session import EVENTS_PATH, NAME_PATH
from watcher.sources.level import GRACE_S

EVENTS_AT = EVENTS_PATH.partition("?")[0]
NAME_AT = NAME_PATH.partition("?")[0]
NAMED = AzureConfig(vm_name=ME)

FAULTS: dict[str, Callable[[ScriptedImds], Reply]] = {
    "forbidden": lambda imds: imds.status(403),
    "unauthorized": lambda imds: imds.status(401),
    "not_found": lambda imds: imds.status(404),
    "server_error": lambda imds: imds.status(500, b"<html>oops</html>"),
    "redirect": lambda imds: imds.status(302, b"", Location="/metadata/nothing"),
    "connection": lambda imds: imds.fault("reset"),
    "malformed": lambda imds: imds.status(200, b""),
    "unexpected_status": lambda imds: imds.status(410),
    "timeout": lambda imds: imds.fault("hang"),
    "throttled": lambda imds: imds.status(429),
}
SLOW = ("timeout", "throttled")


@pytest.fixture
async def azure(imds: ScriptedImds) -> AsyncIterator[ScriptedImds]:
    """A server that says who we are, and that there are no events."""
    imds.needs_token = False
    imds.play(NAME_AT, imds.status(200, ME.encode()))
    imds.play(EVENTS_AT, imds.json(body("none").decode()))
    yield imds  # noqa: PT022 - the server itself is closed by its own fixture


def shows(azure: ScriptedImds, data: bytes) -> None:
    """Let the server answer with this document from now on."""
    azure.play(EVENTS_AT, azure.status(200, data))


async def test_source_is_not_blind_when_nothing_is_scheduled(
    azure: ScriptedImds, clock: TurnedClock
) -> None:
    """Both keys have answered, over a connection each, with the header on every request."""
    async with hearing_azure(azure.url, clock) as ears:
        await azure.seen(EVENTS_AT, 5)
        assert ears.health.blind_since() is None
        assert ears.health.keys[EVENTS].last_answer == "absent"
        assert ears.health.facts == {"name": ME}
    assert sorted(map(sorted, azure.connections.values())) == [[NAME_AT], [EVENTS_AT]]
    assert all(headers["Metadata"] == "true" for headers in azure.headers)


async def test_source_hears_both_when_a_document_has_two_of_ours(
    azure: ScriptedImds, clock: TurnedClock
) -> None:
    """And not the one of another machine."""
    shows(azure, body("several"))
    async with hearing_azure(azure.url, clock) as ears:
        told = [await ears.hears(), await ears.hears()]
        await azure.seen(EVENTS_AT, azure.count(EVENTS_AT) + 5)
        assert ears.heard() == []
    assert [notice.kind for notice in told] == [
        NoticeKind.MAINTENANCE,
        NoticeKind.LIVE_MIGRATION,
    ]


async def test_source_says_once_what_it_ignores_when_it_is_for_others(
    azure: ScriptedImds, clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """For people who wonder why nothing happened."""
    shows(azure, body("sibling"))
    with caplog.at_level(logging.INFO):
        async with hearing_azure(azure.url, clock) as ears:
            await azure.seen(EVENTS_AT, 5)
            assert ears.heard() == []
            assert not ears.is_blind()
    lines = [line for line in caplog.messages if "ignored events of other machines" in line]
    assert lines == [f"ignored events of other machines: {event('sibling')['EventId']}"]


async def test_source_is_blind_when_there_are_events_and_it_has_no_name(
    azure: ScriptedImds, clock: TurnedClock
) -> None:
    """Nobody can tell whose they are; they are heard as soon as the name is known."""
    azure.play(NAME_AT, azure.status(500))
    shows(azure, body("preempt"))
    async with hearing_azure(azure.url, clock) as ears:
        await eventually(lambda: "azure.vm_name" in ears.health.keys[EVENTS].why)
        assert ears.is_blind(NAME)
        assert ears.heard() == []
        azure.play(NAME_AT, azure.status(200, ME.encode()))
        assert (await ears.hears()).instance_id == ME
        assert ears.health.blind_since() is None


async def test_source_is_blind_on_its_name_when_only_that_is_missing(
    azure: ScriptedImds, clock: TurnedClock
) -> None:
    """A document without events hides nothing, and the next one may."""
    azure.play(NAME_AT, azure.status(404))
    async with hearing_azure(azure.url, clock) as ears:
        await azure.seen(EVENTS_AT, 2)
        await eventually(lambda: not ears.is_blind(EVENTS))
        assert ears.is_blind(NAME)


async def test_first_look_waits_for_the_name_when_both_are_asked_for(
    azure: ScriptedImds, clock: TurnedClock
) -> None:
    """An event that is there at the start is heard at the first look, without an error."""
    shows(azure, body("preempt"))
    async with hearing_azure(azure.url, clock) as ears:
        await ears.hears()
        unidentified = ears.health._metrics.fetches.labels(AzureEvents.name, "unidentified")
        assert unidentified._value.get() == 0


async def test_source_needs_no_name_when_it_is_set(azure: ScriptedImds, clock: TurnedClock) -> None:
    """A metadata service that does not say it makes nobody blind then."""
    azure.play(NAME_AT, azure.status(404))
    shows(azure, body("preempt"))
    async with hearing_azure(azure.url, clock, NAMED) as ears:
        await ears.hears()
        assert list(ears.health.keys) == [EVENTS]
        assert ears.health.blind_since() is None


async def test_source_warns_when_the_set_name_is_another(
    azure: ScriptedImds, clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The setting wins, and whoever mistyped it can read so."""
    shows(azure, body("preempt"))
    async with hearing_azure(azure.url, clock, AzureConfig(vm_name="gpu-vmss_4")) as ears:
        await eventually(lambda: "azure.vm_name is gpu-vmss_4" in caplog.text)
        assert ears.heard() == []


@pytest.mark.parametrize("outcome", FAULTS)
async def test_source_keeps_the_notice_and_goes_blind_when_fetches_fail(
    azure: ScriptedImds, clock: TurnedClock, outcome: str
) -> None:
    """Far beyond the deadline, no number of failures of any kind counts as an absence."""
    shows(azure, body("preempt"))
    async with hearing_azure(azure.url, clock) as ears:
        await ears.hears()
        clock.turn(30 + GRACE_S + 1)
        azure.play(EVENTS_AT, FAULTS[outcome](azure))
        await eventually(ears.is_blind)
        if outcome not in SLOW:
            await azure.seen(EVENTS_AT, azure.count(EVENTS_AT) + 2 * LOOKS_TO_WITHDRAW + 2)
        assert ears.heard() == []
        health = ears.health.keys[EVENTS]
        assert health.last_answer == "present"
        assert ears.health._metrics.fetches.labels(AzureEvents.name, outcome)._value.get() >= 1


async def test_source_withdraws_when_the_event_has_gone(
    azure: ScriptedImds, clock: TurnedClock
) -> None:
    """Done or canceled: "over" is all that can be said."""
    shows(azure, body("preempt"))
    async with hearing_azure(azure.url, clock) as ears:
        first = await ears.hears()
        shows(azure, document(incarnation=3))
        last = await ears.hears()
    assert (last.id, last.withdrawn, last.outcome) == (first.id, True, "over")


async def test_source_keeps_the_notice_when_absences_are_interrupted(
    azure: ScriptedImds, clock: TurnedClock
) -> None:
    """Four documents without it, a failure, four again: not five in a row."""
    shows(azure, body("preempt"))
    async with hearing_azure(azure.url, clock) as ears:
        await ears.hears()
        gone = [azure.status(200, document(incarnation=3))] * (LOOKS_TO_WITHDRAW - 1)
        before = azure.count(EVENTS_AT)
        back = azure.status(200, body("preempt"))
        azure.play(EVENTS_AT, *gone, azure.status(500), *gone, azure.status(200), *gone, back)
        await azure.seen(EVENTS_AT, before + 3 * len(gone) + 5)
        assert ears.heard() == []


async def test_source_repeats_nothing_when_an_earlier_run_has_told_it(
    azure: ScriptedImds, clock: TurnedClock
) -> None:
    """And it withdraws what that run has left in force, once it has gone."""
    shows(azure, body("preempt"))
    [told] = parse_document(body("preempt"), clock(), ME).events
    async with hearing_azure(azure.url, clock, adopted=(told.notice,)) as ears:
        await azure.seen(EVENTS_AT, 5)
        assert ears.heard() == []
        shows(azure, document(incarnation=3))
        last = await ears.hears()
    assert (last.id, last.withdrawn) == (told.notice.id, True)
