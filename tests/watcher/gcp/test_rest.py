"""Calls of an API over loopback: the token it carries, and what becomes of its refusals."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.clocks import TurnedClock
from tests.support.scripted_google import TOKEN, ScriptedGoogle
from watcher.errors import GcpCallFailed
from watcher.gcp.metadata import GcpMetadata
from watcher.gcp.rest import GoogleApi
from watcher.httpclient import HttpClient

PATH = "/v1/thing"


@asynccontextmanager
async def calling(google: ScriptedGoogle, clock: TurnedClock) -> AsyncIterator[GoogleApi]:
    """Give what is tested."""
    async with HttpClient(google.url) as metadata, HttpClient(google.url) as client:
        yield GoogleApi(client, GcpMetadata(metadata, clock))


async def test_call_carries_the_token_and_what_is_said(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """A GET has no body, a POST has JSON; the token is asked for once."""
    google.play(PATH, (200, {"a": 1}))
    async with calling(google, clock) as api:
        assert await api.call("GET", PATH + "?fields=a") == {"a": 1}
        assert await api.call("POST", PATH, {"b": [2]}) == {"a": 1}
    got, posted = google.of(PATH)
    assert (got.path, got.body, got.authorization) == (PATH + "?fields=a", b"", "Bearer token-1")
    assert posted.said == {"b": [2]}
    assert len(google.of(TOKEN)) == 1


async def test_call_is_made_once_more_when_its_token_has_become_bad(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """A token can be revoked before its end; a second refusal stands."""
    google.play(PATH, (200, {}))
    async with calling(google, clock) as api:
        await api.call("GET", PATH)
        google.good_token = google.given_token = "token-2"  # noqa: S105 - no secret
        assert await api.call("GET", PATH) == {}
        google.good_token = "another"  # noqa: S105 - no secret
        with pytest.raises(GcpCallFailed) as caught:
            await api.call("GET", PATH)
    assert (caught.value.outcome, caught.value.code) == ("credentials", "UNAUTHENTICATED")
    assert len(google.of(PATH)) == 1 + 2 + 2


@pytest.mark.parametrize(
    ("answer", "labels", "words"),
    [
        (
            (403, {"error": {"message": "No.\nMore", "status": "PERMISSION_DENIED"}}),
            ("forbidden", "PERMISSION_DENIED"),
            "GET /v1/thing: 403 PERMISSION_DENIED: No.",
        ),
        ((404, {"error": {"message": "gone"}}), ("not_found", ""), "404 : gone"),
        ((429, {}), ("throttled", ""), "429"),
        ((503, "<html>busy</html>"), ("throttled", ""), "503"),
        (
            (504, {"error": {"status": "DEADLINE_EXCEEDED"}}),
            ("nothing_in_time", "DEADLINE_EXCEEDED"),
            "504 DEADLINE_EXCEEDED",
        ),
        ((400, {"error": "text"}), ("refused", ""), "400"),
        ((500, {"error": {"status": "a b\n", "message": "\x1b[2J"}}), ("refused", ""), ": ?[2J"),
        ((302, ""), ("refused", ""), "302"),
        ((200, "<html>hello</html>"), ("malformed", ""), "no JSON object"),
        ((200, "[]"), ("malformed", ""), "no JSON object"),
        ((200, ""), ("malformed", ""), "no JSON object"),
    ],
)
async def test_call_says_what_is_wrong_when_it_is_refused(
    google: ScriptedGoogle,
    clock: TurnedClock,
    answer: tuple[int, object],
    labels: tuple[str, str],
    words: str,
) -> None:
    """In one printable line, and in one word for a metric."""
    google.play(PATH, answer)
    async with calling(google, clock) as api:
        with pytest.raises(GcpCallFailed) as caught:
            await api.call("GET", PATH)
    assert (caught.value.outcome, caught.value.code) == labels
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


async def test_call_carries_no_token_when_the_server_can_not_prove_itself(
    google: ScriptedGoogle, clock: TurnedClock, tmp_path: Path
) -> None:
    """A certificate that no authority has signed may be a stranger's, who would get the token."""
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=self_signed(tmp_path))
    port = server.sockets[0].getsockname()[1]
    async with (
        server,
        HttpClient(google.url) as metadata,
        HttpClient(f"https://127.0.0.1:{port}", 5) as client,
    ):
        with pytest.raises(GcpCallFailed, match="CERTIFICATE_VERIFY_FAILED"):
            await GoogleApi(client, GcpMetadata(metadata, clock)).call("GET", PATH)
    assert not heard or heard == [b""]


def self_signed(folder: Path) -> ssl.SSLContext:
    """Return a server's context whose certificate nobody else has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "compute.googleapis.com")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(secret + certificate.public_bytes(pem))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context
