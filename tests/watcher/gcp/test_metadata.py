"""Who a VM is and what it may show Google's APIs, from a metadata server on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.clocks import TurnedClock
from tests.support.scripted_google import ME, TOKEN, ScriptedGoogle
from watcher.errors import GcpCallFailed
from watcher.gcp.metadata import GcpMetadata, Identity
from watcher.httpclient import HttpClient


@asynccontextmanager
async def asking(google: ScriptedGoogle, clock: TurnedClock) -> AsyncIterator[GcpMetadata]:
    """Give what is tested."""
    async with HttpClient(google.url) as client:
        yield GcpMetadata(client, clock)


async def test_identity_is_asked_for_once_when_it_is_known(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """It never changes, and a zone comes with its project's number before it."""
    async with asking(google, clock) as metadata:
        me = await metadata.identity()
        assert me == Identity("my-proj", "europe-west1-b", "node-1", ME)
        assert await metadata.identity() is me
    assert len(google.asked) == 4


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("instance/id", 200, "i-0abc"),
        ("instance/id", 200, ""),
        ("instance/name", 200, "../other"),
        ("instance/zone", 200, "<html>hello</html>"),
        ("project/project-id", 200, "a/b?c"),
        ("project/project-id", 503, "busy"),
        ("instance/zone", 404, "none"),
    ],
)
async def test_identity_is_unknown_when_a_word_is_not_there(
    google: ScriptedGoogle, clock: TurnedClock, path: str, status: int, body: str
) -> None:
    """Each goes into an URL, so it has to look like what it is; the next call asks again."""
    google.play(path, (status, body))
    async with asking(google, clock) as metadata:
        with pytest.raises(GcpCallFailed, match=path):
            await metadata.identity()


async def test_token_is_renewed_when_its_end_is_near(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """By CLOCK_BOOTTIME, which goes on while the VM is suspended."""
    async with asking(google, clock) as metadata:
        assert await metadata.token() == "token-1"
        clock.turn(3599 - 61)
        assert await metadata.token() == "token-1"
        assert len(google.of(TOKEN)) == 1
        google.given_token = "token-2"  # noqa: S105 - no secret
        clock.turn(2)
        assert await metadata.token() == "token-2"


async def test_token_is_asked_for_anew_when_an_api_has_refused_it(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """But not when the refusal is of one that has been replaced meanwhile."""
    async with asking(google, clock) as metadata:
        token = await metadata.token()
        metadata.refuse("an older one")
        await metadata.token()
        assert len(google.of(TOKEN)) == 1
        metadata.refuse(token)
        await metadata.token()
        assert len(google.of(TOKEN)) == 2


async def test_token_is_unknown_when_the_answer_is_not_googles(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """Another cloud's server, or a portal, does not say the flavor."""
    google.flavor = "Mint"
    async with asking(google, clock) as metadata:
        with pytest.raises(GcpCallFailed, match="not Google's answer"):
            await metadata.token()


async def test_token_names_the_cause_when_the_vm_has_no_service_account(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """It is what people forget."""
    google.play(TOKEN, (404, "none"))
    async with asking(google, clock) as metadata:
        with pytest.raises(GcpCallFailed, match="no service account; give it one"):
            await metadata.token()


@pytest.mark.parametrize(
    "body",
    [
        "",
        "secret-token",
        "[]",
        '{"access_token": "secret-token"}',
        '{"access_token": "secret-token", "expires_in": NaN}',
        '{"access_token": "secret-token", "expires_in": "3599"}',
        '{"access_token": "secret-token", "expires_in": 1e9}',
        '{"access_token": "secret-token", "expires_in": -' + "9" * 400 + "}",
        '{"access_token": "", "expires_in": 3599}',
        '{"access_token": "secret\\r\\ntoken", "expires_in": 3599}',
        '{"access_token": ["secret-token"], "expires_in": 3599}',
        "[" * 60_000,
    ],
)
async def test_token_is_refused_without_a_word_of_it_when_it_is_odd(
    google: ScriptedGoogle, clock: TurnedClock, body: str
) -> None:
    """What can't be sent as a header is none, and no part of an answer may get into a log."""
    google.play(TOKEN, (200, body))
    async with asking(google, clock) as metadata:
        with pytest.raises(GcpCallFailed) as caught:
            await metadata.token()
    assert caught.value.outcome == "malformed"
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_token_is_unknown_when_the_server_is_away(clock: TurnedClock) -> None:
    """As everything else is."""
    async with HttpClient("http://127.0.0.1:9") as client:
        with pytest.raises(GcpCallFailed) as caught:
            await GcpMetadata(client, clock).token()
    assert caught.value.outcome == "unreachable"
