"""The HTTP client against real sockets: what it sends, keeps, and refuses to believe."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.scripted_imds import ScriptedImds
from watcher.errors import SourceMalformed, SourceUnavailable
from watcher.httpclient import BODY_LIMIT_BYTES, HttpClient
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

TOKEN = "/latest/api/token"  # noqa: S105 - the one path that needs no token, so any test may script it


@asynccontextmanager
async def raw_server(answer: bytes) -> AsyncIterator[str]:
    """Answer every connection with these bytes and close it."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):  # also where the client has gone in the middle
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield "http://{}:{}".format(*server.sockets[0].getsockname())


async def test_client_keeps_one_connection_when_answers_vary(imds: ScriptedImds) -> None:
    """Bodies of errors are read to their end as well, so the connection can be used again."""
    imds.play(TOKEN, *(imds.status(code, b"x" * 4000) for code in (404, 401, 500, 200, 404)))
    async with HttpClient(imds.url) as client:
        statuses = [(await client.call("GET", TOKEN, {})).status for _ in range(5)]
    assert statuses == [404, 401, 500, 200, 404]
    assert len(imds.connections) == 1


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
async def test_client_goes_straight_when_the_environment_names_a_proxy(
    imds: ScriptedImds, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A proxy would add X-Forwarded-For, which EC2 refuses."""
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with HttpClient(imds.url) as client:
        assert (await client.call("PUT", TOKEN, {})).status == 200
    assert "X-Forwarded-For" not in imds.headers[0]


async def test_client_stays_on_the_host_when_redirected(imds: ScriptedImds) -> None:
    """A redirect is an answer like any other; nobody follows it."""
    imds.play(TOKEN, imds.status(302, b"", Location=imds.url + "/elsewhere"))
    async with HttpClient(imds.url) as client:
        assert (await client.call("GET", TOKEN, {})).status == 302
    assert imds.requests == [("GET", TOKEN)]


async def test_client_takes_a_base_url_when_it_ends_in_a_slash(imds: ScriptedImds) -> None:
    """People write the SDKs' variable both ways."""
    async with HttpClient(imds.url + "/") as client:
        await client.call("PUT", TOKEN, {})
    assert imds.requests == [("PUT", TOKEN)]


async def test_client_reads_no_further_when_the_body_is_too_large(imds: ScriptedImds) -> None:
    """A body up to the cap is read, one byte more is not the cloud's."""
    imds.play(
        TOKEN,
        imds.status(200, b"x" * BODY_LIMIT_BYTES),
        imds.status(200, b"x" * (BODY_LIMIT_BYTES + 1)),
        imds.status(200, b"x"),
    )
    async with HttpClient(imds.url) as client:
        assert len((await client.call("GET", TOKEN, {})).body) == BODY_LIMIT_BYTES
        with pytest.raises(SourceMalformed):
            await client.call("GET", TOKEN, {})
        assert (await client.call("GET", TOKEN, {})).body == b"x"


async def test_client_unpacks_nothing_when_the_body_is_compressed(imds: ScriptedImds) -> None:
    """EC2 compresses nothing, and a few bytes can unpack to gigabytes."""
    imds.play(TOKEN, imds.status(200, b"\x1f\x8b\x08", **{"Content-Encoding": "gzip"}))
    async with HttpClient(imds.url) as client:
        assert (await client.call("GET", TOKEN, {})).body == b"\x1f\x8b\x08"
    assert imds.headers[0]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [("hang", "timeout"), ("reset", "connection"), ("half_body", "connection")],
)
async def test_client_has_no_answer_when_the_server_fails(
    imds: ScriptedImds, fault: str, outcome: str
) -> None:
    """Each failure is ours, chained to the library's, and the next call works."""
    imds.play(TOKEN, imds.fault(fault))
    async with HttpClient(imds.url) as client:
        with pytest.raises(SourceUnavailable) as caught:
            await client.call("GET", TOKEN, {})
        imds.play(TOKEN, imds.status(200, b"ok"))
        assert (await client.call("GET", TOKEN, {})).body == b"ok"
    assert caught.value.outcome == outcome
    assert caught.value.__cause__ is not None


GARBAGE = [
    b"",
    b"\x00\xff\x80garbage\r\n\r\n",
    b"HTTP/9.9 abc nonsense\r\n\r\n",
    b"HTTP/1.1 20000 what\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nbody",
    b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nbody",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbody",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbo",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Le",
    b"SSH-2.0-OpenSSH_9.2\r\n",
]


@pytest.mark.parametrize("answer", GARBAGE, ids=range(len(GARBAGE)))
async def test_client_has_no_answer_when_the_bytes_are_not_http(answer: bytes) -> None:
    """Nothing that a server sends raises anything but our own errors."""
    async with raw_server(answer) as url, HttpClient(url) as client:
        with pytest.raises(SourceUnavailable):
            await client.call("GET", TOKEN, {})


async def test_client_has_no_answer_when_nobody_listens(unused_tcp_port: int) -> None:
    """A refused connection is as unknown as any other failure."""
    async with HttpClient(f"http://127.0.0.1:{unused_tcp_port}") as client:
        with pytest.raises(SourceUnavailable) as caught:
            await client.call("GET", TOKEN, {})
    assert caught.value.outcome == "unreachable"
    assert str(caught.value).endswith(f"{TOKEN}: Cannot connect: Connection refused")


async def test_reason_is_tls_own_when_the_server_speaks_none(imds: ScriptedImds) -> None:
    """It counts its own errors: 1 of them is no missing permission."""
    async with HttpClient(imds.url.replace("http:", "https:")) as client:
        with pytest.raises(SourceUnavailable) as caught:
            await client.call("GET", TOKEN, {})
    assert caught.value.outcome == "unreachable"
    assert f"{TOKEN}: Cannot connect: [SSL: " in str(caught.value)


async def test_client_is_unreachable_when_packets_are_dropped() -> None:
    """A full backlog drops the SYN, as a firewall does: there never was a connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()[:2]
        with socket.create_connection(address), socket.socket() as waiting:
            waiting.settimeout(0)
            waiting.connect_ex(address)
            async with HttpClient("http://{}:{}".format(*address), 0.2) as client:
                with pytest.raises(SourceUnavailable) as caught:
                    await client.call("GET", TOKEN, {})
    assert caught.value.outcome == "unreachable"


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
async def test_client_reaches_the_service_when_its_address_is_ipv6() -> None:
    """An instance in an IPv6-only subnet has no other."""
    async with (
        serving(make_app(AwsScenario(), ScenarioClock()), "::1", 0) as url,
        HttpClient(url) as client,
    ):
        assert (await client.call("GET", "/latest/meta-data/", {})).status == 401


async def test_client_is_of_no_use_when_outside_its_block() -> None:
    """A mistake in our own code is a plain error, not a blind source."""
    with pytest.raises(RuntimeError):
        await HttpClient("http://127.0.0.1:9").call("GET", TOKEN, {})
