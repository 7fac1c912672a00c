"""Azure's metadata service as a client meets it: one answer, and many ways of giving none."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.clocks import TurnedClock
from tests.support.scripted_imds import ScriptedImds
from tests.support.simulated_aws import TurnedClock as ScenarioClocks
from tests.support.simulated_azure import simulated_azure
from tests.support.skipping_loop import run_skipping
from watcher.errors import SourceThrottled, SourceUnavailable
from watcher.httpclient import HttpClient
from watcher.simulator.azure.scenario import AzureScenario
from watcher.sources.azure_session import (
    EVENTS_PATH,
    FIRST_LIMIT_S,
    LIMIT_S,
    NAME_PATH,
    OFF_AFTER_S,
    AzureSession,
)

PATH = EVENTS_PATH.partition("?")[0]


@pytest.fixture
async def session(imds: ScriptedImds, clock: TurnedClock) -> AsyncIterator[AzureSession]:
    """A conversation with a server that plays a script."""
    imds.needs_token = False
    async with HttpClient(imds.url) as client:
        yield AzureSession(client, clock)


async def test_session_is_let_in_when_it_asks_azure(clock: TurnedClock) -> None:
    """By the header and the version; a proxy in the environment is not asked."""
    async with (
        simulated_azure(ScenarioClocks(), AzureScenario()) as azure,
        HttpClient(azure.url) as client,
    ):
        session = AzureSession(client, clock)
        assert (await session.get(EVENTS_PATH)).body == b'{"DocumentIncarnation":1,"Events":[]}'
        assert (await session.get(NAME_PATH)).body == b"gpu-vmss_3"
        assert {entry["connection"] for entry in await azure.requests()} == {1}


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (204, "unexpected_status"),
        (301, "redirect"),
        (400, "unexpected_status"),
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "not_found"),
        (405, "unexpected_status"),
        (410, "unexpected_status"),
        (429, "throttled"),
        (500, "server_error"),
        (503, "server_error"),
    ],
)
async def test_session_has_no_answer_when_the_status_is_not_200(
    imds: ScriptedImds, session: AzureSession, status: int, outcome: str
) -> None:
    """Not even a 404: Azure says in a document that there is nothing. Only 429 slows us down."""
    imds.play(PATH, imds.status(status, b'{"DocumentIncarnation":1,"Events":[]}'))
    with pytest.raises(SourceUnavailable) as caught:
        await session.get(EVENTS_PATH)
    assert caught.value.outcome == outcome
    assert isinstance(caught.value, SourceThrottled) == (status == 429)
    assert f"HTTP {status}" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "X-Forwarded-For"), (403, "the host's network"), (404, "azure.metadata_endpoint")],
)
async def test_session_says_the_usual_cause_when_it_knows_one(
    imds: ScriptedImds, session: AzureSession, status: int, words: str
) -> None:
    """In words that a person can act on."""
    imds.play(PATH, imds.status(status))
    with pytest.raises(SourceUnavailable, match=words):
        await session.get(EVENTS_PATH)


async def test_session_says_the_usual_cause_when_nobody_is_there(
    unused_tcp_port: int, clock: TurnedClock
) -> None:
    """A firewall, or another cloud."""
    async with HttpClient(f"http://127.0.0.1:{unused_tcp_port}") as client:
        with pytest.raises(SourceUnavailable, match="or this is not Azure") as caught:
            await AzureSession(client, clock).get(EVENTS_PATH)
    assert caught.value.outcome == "unreachable"


def first_answer(after_s: float, first_limit_s: float | None) -> float:
    """Ask for the first time where events are off; return when the answer came."""

    async def ask() -> float:
        clock = TurnedClock()
        scenario = AzureScenario(first_answer_s=after_s)
        async with (
            simulated_azure(ScenarioClocks(), scenario) as azure,
            HttpClient(azure.url, LIMIT_S) as client,
        ):
            began = asyncio.get_running_loop().time()
            await AzureSession(client, clock, first_limit_s).get(EVENTS_PATH)
            return asyncio.get_running_loop().time() - began

    return run_skipping(ask)


@pytest.mark.parametrize("after_s", [0, 30, 110, 120, FIRST_LIMIT_S - 1])
def test_first_answer_is_waited_for_when_azure_switches_events_on(after_s: float) -> None:
    """Two minutes are documented; by the loop's own clock."""
    assert first_answer(after_s, FIRST_LIMIT_S) == pytest.approx(after_s, abs=0.1)


@pytest.mark.parametrize(
    ("after_s", "first_limit_s"), [(FIRST_LIMIT_S + 1, FIRST_LIMIT_S), (LIMIT_S + 1, None)]
)
def test_first_answer_is_given_up_when_it_takes_too_long(
    after_s: float, first_limit_s: float | None
) -> None:
    """A server that never answers is noticed, and a question that switches nothing on at once."""
    with pytest.raises(SourceUnavailable) as caught:
        first_answer(after_s, first_limit_s)
    assert caught.value.outcome == "timeout"


@pytest.mark.parametrize(
    ("silent_s", "is_first"), [(1, False), (OFF_AFTER_S - 1, False), (OFF_AFTER_S + 2, True)]
)
async def test_question_is_a_first_one_again_when_nobody_has_asked_for_a_day(
    imds: ScriptedImds,
    clock: TurnedClock,
    silent_s: float,
    is_first: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A machine that was hibernated, say: then a long answer is no failure."""
    imds.needs_token = False
    imds.play(PATH, imds.status(200))
    async with HttpClient(imds.url) as client:
        session = AzureSession(client, clock)
        await session.get(EVENTS_PATH)
        clock.turn(silent_s)
        assert session._is_first() is is_first


async def test_question_stays_a_first_one_when_it_was_refused(
    imds: ScriptedImds, clock: TurnedClock
) -> None:
    """Only an answer switches events on."""
    imds.needs_token = False
    imds.play(PATH, imds.status(500), imds.status(200))
    async with HttpClient(imds.url, 0.2) as client:
        session = AzureSession(client, clock, first_limit_s=20)
        assert session._is_first()
        with pytest.raises(SourceUnavailable):
            await session.get(EVENTS_PATH)
        assert session._is_first()
        await session.get(EVENTS_PATH)
        assert not session._is_first()
