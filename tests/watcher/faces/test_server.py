"""The server of the faces: who may ask, how much, and what happens when it can't listen."""

import asyncio
import contextlib
import socket

import pytest
from aiohttp import web

from tests.support.clocks import eventually
from tests.support.exhaustion import all_descriptors_used
from tests.support.served_faces import served_faces
from watcher.config import Address
from watcher.faces import server
from watcher.faces.server import keep_serving


async def hello(_request: web.Request) -> web.Response:
    """Say hello."""
    return web.Response(text="hello")


ROUTES = {"/hello": hello}


async def raw(url: str, request: bytes) -> bytes:
    """Send these bytes and return everything that comes back."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "[::1]:9765", "LOCALHOST:1"])
async def test_request_is_answered_when_it_names_this_machine(host: str) -> None:
    """Loopback names count with any port: probes come through port forwards as well."""
    async with served_faces(ROUTES) as faces:
        assert await faces.ask("/hello", Host=host) == (200, "hello")


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "10.0.0.1", "[::1", "", "127.0.0.1@evil"]
)
async def test_request_is_refused_when_it_names_another_host(host: str) -> None:
    """A web page that rebinds its name to this machine can't read the node's state."""
    async with served_faces(ROUTES) as faces:
        assert (await faces.ask("/hello", Host=host))[0] in (400, 403)


async def test_request_is_answered_under_the_address_it_came_in_on_when_bound_to_all() -> None:
    """A wildcard address serves the node's own addresses, whichever they are."""
    async with served_faces(ROUTES, Address("0.0.0.0", 0)) as faces:  # noqa: S104 - what is tested
        port = faces.url.rpartition(":")[2]
        faces.url = f"http://127.0.0.2:{port}"
        assert await faces.ask("/hello") == (200, "hello")
        assert (await faces.ask("/hello", Host="127.0.0.3"))[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_request_is_refused_when_it_would_change_something(method: str) -> None:
    """The faces only show."""
    async with served_faces(ROUTES) as faces:
        assert (await faces.ask("/hello", method))[0] == 405


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /" + b"x" * 10_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 10_000 + b"\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
    ids=["long line", "long header", "no http"],
)
async def test_request_is_refused_when_it_is_too_large_or_no_http(request_bytes: bytes) -> None:
    """Nobody makes the daemon keep more than a few kilobytes."""
    async with served_faces(ROUTES) as faces:
        first_line, _, _ = (await raw(faces.url, request_bytes)).partition(b"\r\n")
        assert b" 400 " in first_line


async def test_log_has_no_word_of_requests_that_are_no_http_unless_it_is_asked_to(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever reaches the port could fill the log otherwise, a traceback for each request."""
    bad = b"GET /hello HTTP/1.1\r\nHost: localhost\r\nX: \x00\r\n\r\n"
    async with served_faces(ROUTES) as faces:
        with caplog.at_level("INFO"):
            assert b" 400 " in await raw(faces.url, bad)
        assert [one.message for one in caplog.records if "faces served" not in one.message] == []
        with caplog.at_level("DEBUG"):
            await raw(faces.url, bad)
        assert "request refused why=Invalid header value" in caplog.text
        assert "Traceback" not in caplog.text


async def test_log_has_the_traceback_when_a_face_itself_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A fault of ours is not hidden with those of the clients."""

    async def broken(_request: web.Request) -> web.Response:
        raise ArithmeticError

    async with served_faces({"/broken": broken}) as faces:
        assert (await faces.ask("/broken"))[0] == 500
    assert "ArithmeticError" in caplog.text


@pytest.mark.parametrize("opening", [b"", b"GET /hello HTTP/1.1\r\nHost: loc"])
async def test_connection_is_closed_when_no_complete_request_comes(
    monkeypatch: pytest.MonkeyPatch, opening: bytes
) -> None:
    """A client that only holds a connection is sent away."""
    monkeypatch.setattr(server, "_IDLE_LIMIT_S", 0.05)
    async with served_faces(ROUTES) as faces:
        assert await raw(faces.url, opening) == b""


async def test_accept_failure_is_said_once_when_descriptors_are_used_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One line without a traceback, and the clients that waited are served after it."""
    loop = asyncio.get_running_loop()
    async with served_faces(ROUTES) as faces:
        host, port = faces.url.removeprefix("http://").split(":")
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(socket.socket()) for _ in range(3)]
            with all_descriptors_used():
                for client in clients:
                    client.settimeout(0)
                    await loop.sock_connect(client, (host, int(port)))
                await eventually(lambda: "accept nobody" in caplog.text)
                await asyncio.sleep(0.05)
            faults = [record for record in caplog.records if record.levelname == "ERROR"]
            assert [record.name for record in faults] == ["watcher.faces.server"]
            assert faults[0].exc_info is None
            await loop.sock_sendall(clients[0], b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await loop.sock_recv(clients[0], 15)) == b"HTTP/1.1 200 OK"


async def test_faces_are_served_later_when_the_address_is_taken_at_first(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A taken port is logged and tried again; the daemon protects its node meanwhile."""
    monkeypatch.setattr(server, "_RETRY_S", 0.02)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(keep_serving(ROUTES, Address("127.0.0.1", port), bound))
        assert await bound == "none"
        assert f"faces not served listen=127.0.0.1:{port}" in caplog.text
    with caplog.at_level("INFO"):
        await eventually(lambda: f"faces served listen=http://127.0.0.1:{port}" in caplog.text)
    answer = await raw(
        f"http://127.0.0.1:{port}",
        b"GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    )
    assert answer.endswith(b"hello")
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
