"""Requests that try to write into the answer's headers, or to smuggle a second request."""

import asyncio

import pytest
from aiohttp import web

from tests.support.served_faces import served_faces


async def hello(_request: web.Request) -> web.Response:
    """Say hello."""
    return web.Response(text="hello")


async def answered(request: bytes) -> bytes:
    """Return all that comes back for these bytes, in small letters."""
    async with served_faces({"/hello": hello}) as faces:
        host, port = faces.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request)
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()
    return answer.lower()


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET /hello%0d%0aX-Injected:%201 HTTP/1.1",
        b"GET /hello?a=%0d%0aX-Injected:%201 HTTP/1.1",
        b"GET /%0d%0a%0d%0aX-Injected:%201 HTTP/1.1",
        b"GET http://localhost/hello%0aX-Injected:%201 HTTP/1.1",
        b"X-Injected:1\r\nGET /hello HTTP/1.1",
        b"GET /hello HTTP/1.1\rX-Injected: 1",
    ],
)
async def test_answer_has_no_header_of_the_requests_when_it_tries(request_line: bytes) -> None:
    """Neither on its page nor on that which says that there is none."""
    answer = await answered(request_line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    head, _, _ = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"http/1.")
    assert not any(
        line.startswith(b"x-injected") for line in head.replace(b"\r", b"\n").split(b"\n")
    )


@pytest.mark.parametrize(
    "header",
    [
        b"Host: localhost\r\nHost: evil.example",
        b"Host: localhost\rX-Injected: 1",
        b"Host: local\0host",
        b"Host : localhost",
        b"Host: localhost\r\nX-Long: " + b"a" * 10_000,
        b"Host: localhost\r\nContent-Length: 1\r\nContent-Length: 2",
        b"Host: localhost\r\nContent-Length: -1",
        b"Host: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
    ],
)
async def test_request_is_refused_when_its_headers_can_be_read_in_two_ways(header: bytes) -> None:
    """A proxy before us may read them in the other."""
    answer = await answered(b"GET /hello HTTP/1.1\r\n" + header + b"\r\nConnection: close\r\n\r\n")
    assert answer.split()[1:2] in ([b"400"], [b"403"]), answer
    assert b"x-injected" not in answer.partition(b"\r\n\r\n")[0]
