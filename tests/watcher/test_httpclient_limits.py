"""The HTTP client where one call may take longer than the others."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from watcher.errors import SourceUnavailable
from watcher.httpclient import HttpClient

LIMIT_S = 0.2
PATIENT_S = 30.0


class HeldBack:
    """A server that answers nothing before it is told to."""

    def __init__(self) -> None:
        self.url = ""
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request and hold its answer back."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked.set()
        await self.may_answer.wait()
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or b"0")
        body = await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (length, body))
        writer.close()


@pytest.fixture
async def server() -> AsyncIterator[HeldBack]:
    """Run the server on loopback."""
    held = HeldBack()
    listening = await asyncio.start_server(held.talk, "127.0.0.1", 0)
    held.url = "http://{}:{}".format(*listening.sockets[0].getsockname())
    yield held
    held.may_answer.set()
    listening.close()
    await listening.wait_closed()


async def test_call_outlasts_the_clients_limit_when_it_has_one_of_its_own(
    server: HeldBack,
) -> None:
    """The answer is given out only after another call of the client has run out of time."""
    async with HttpClient(server.url, LIMIT_S) as client, HttpClient(server.url, LIMIT_S) as other:
        patient = asyncio.create_task(client.call("GET", "/", {}, limit_s=PATIENT_S))
        await server.asked.wait()
        with pytest.raises(SourceUnavailable, match=f"no answer within {LIMIT_S} s") as caught:
            await other.call("GET", "/", {})
        assert caught.value.outcome == "timeout"
        assert not patient.done()
        server.may_answer.set()
        assert (await patient).status == 200


async def test_call_says_its_own_limit_when_that_has_passed(server: HeldBack) -> None:
    """A person who reads the log looks for the limit that was really in force."""
    async with HttpClient(server.url, PATIENT_S) as client:
        with pytest.raises(SourceUnavailable, match=f"no answer within {LIMIT_S} s"):
            await client.call("GET", "/", {}, limit_s=LIMIT_S)


async def test_call_carries_a_body_when_given_one(server: HeldBack) -> None:
    """The bytes arrive as they are."""
    server.may_answer.set()
    async with HttpClient(server.url) as client:
        answer = await client.call("POST", "/", {}, b'{"a": 1}')
    assert answer.body == b'{"a": 1}'
