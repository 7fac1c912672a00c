"""Servers that would have a secret sent elsewhere, a header of theirs sent, or memory filled."""

import gzip
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from watcher.errors import GcpCallFailed, KubeError, KubeUnavailable, SourceMalformed
from watcher.gcp.metadata import read_token
from watcher.httpclient import Answer, HttpClient
from watcher.kube.client import KubeClient
from watcher.kube.place import Place
from watcher.sources.aws_session import TTL_HEADER, parse_token

CANARY = "canary-token"
BOMB = gzip.compress(b"\0" * 64 * 1024 * 1024)
"""64 MiB in 64 KiB."""

MOST_BYTES = 8 * 1024 * 1024

ODD_TOKENS = [
    "",
    "a\r\nX-Injected: 1",
    "a\nb",
    "a\rb",
    "a b",
    "a\0b",
    "\x1b[2J",
    "é",
    "x" * 100_000,
]


class Elsewhere:
    """A server, and what has come to it."""

    def __init__(self) -> None:
        self.url = ""
        self.headers: list[dict[str, str]] = []
        self.answer: Callable[[], web.Response] = web.Response

    async def take(self, request: web.Request) -> web.StreamResponse:
        """Take anything."""
        self.headers.append(dict(request.headers))
        return self.answer()


@asynccontextmanager
async def listening() -> AsyncIterator[Elsewhere]:
    """Run one on loopback."""
    server = Elsewhere()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = "http://{}:{}".format(*runner.addresses[0][:2])
    try:
        yield server
    finally:
        await runner.cleanup()


def bomb() -> web.Response:
    """Answer with what grows a thousandfold for whoever unpacks it."""
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return web.Response(body=BOMB, headers=headers)


@asynccontextmanager
async def kube(url: str, directory: Path) -> AsyncIterator[KubeClient]:
    """Yield a client whose token is the canary."""
    (directory / "token").write_text(CANARY)
    async with KubeClient(Place(url, directory / "token"), None, limit_s=20.0) as client:
        yield client


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_token_of_kubernetes_goes_nowhere_else_when_the_server_says_so(
    tmp_path: Path, status: int
) -> None:
    """A redirect is a failed call, and whoever it names hears nothing."""
    async with listening() as server, listening() as thief, kube(server.url, tmp_path) as client:
        location = {"Location": f"{thief.url}/api/v1/nodes/a"}
        server.answer = lambda: web.Response(status=status, headers=location)
        with pytest.raises(KubeError):
            await client.get("/api/v1/nodes/a")
        with pytest.raises(KubeError):
            await client.send("PATCH", "/api/v1/nodes/a", {})
    assert len(server.headers) == 2
    assert server.headers[0]["Authorization"] == f"Bearer {CANARY}"
    assert thief.headers == []


async def test_nothing_is_unpacked_when_the_api_server_sends_a_bomb(tmp_path: Path) -> None:
    """It is an answer that is no JSON, and costs what came over the wire."""
    async with listening() as server, kube(server.url, tmp_path) as client:
        server.answer = bomb
        tracemalloc.start()
        try:
            with pytest.raises(KubeError):
                await client.get("/api/v1/nodes/a")
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak_bytes < MOST_BYTES


async def test_nothing_is_unpacked_when_a_metadata_server_sends_a_bomb() -> None:
    """Nobody has asked for anything packed, so that it stays what it is."""
    async with listening() as server, HttpClient(server.url, 20.0) as client:
        server.answer = bomb
        tracemalloc.start()
        try:
            assert (await client.call("GET", "/", {})).body == BOMB
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert server.headers[0]["Accept-Encoding"] == "identity"
    assert peak_bytes < MOST_BYTES


@pytest.mark.parametrize("token", ODD_TOKENS)
def test_token_is_refused_when_it_would_be_a_header_of_its_own(token: str) -> None:
    """Both clouds' tokens are sent back in a header."""
    answer = Answer(200, {TTL_HEADER: "21600"}, token.encode())
    with pytest.raises(SourceMalformed):
        parse_token(answer)
    body = f'{{"access_token": {token!r}, "expires_in": 3600}}'.replace("'", '"')
    with pytest.raises(GcpCallFailed) as raised:
        read_token(body.encode())
    assert "Injected" not in str(raised.value)


@pytest.mark.parametrize("token", [one for one in ODD_TOKENS if one not in ("a b", "x" * 100_000)])
async def test_service_accounts_token_is_not_sent_when_it_would_be_a_header_of_its_own(
    tmp_path: Path, token: str
) -> None:
    """Whoever can write that file could have us say anything."""
    async with listening() as server, kube(server.url, tmp_path) as client:
        (tmp_path / "token").write_text(token)
        with pytest.raises(KubeUnavailable):
            await client.get("/version")
    assert server.headers == []
