"""Names that are looked up beside the loop."""

import asyncio
import socket
import threading

import pytest

from tests.support.clocks import eventually
from watcher.actions.side_resolver import SideResolver


async def test_resolver_returns_addresses_when_the_name_is_known() -> None:
    """As aiohttp takes them."""
    found = await SideResolver("test").resolve("localhost", 80, socket.AF_INET)
    assert [(one["host"], one["port"], one["family"]) for one in found] == [
        ("127.0.0.1", 80, socket.AF_INET)
    ]


async def test_resolver_fails_when_nobody_knows() -> None:
    """By the system's own error."""
    with pytest.raises(socket.gaierror):
        await SideResolver("test").resolve("no-such-host.invalid")


async def test_resolver_starts_no_second_lookup_when_the_first_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its caller has gone, and one thread is all it ever takes."""
    is_let, calls = threading.Event(), []
    lookup = socket.getaddrinfo

    def slow(*args: object, **kwargs: object) -> object:
        calls.append(args)
        is_let.wait()
        return lookup(*args, **kwargs)  # type: ignore[arg-type] # passed on as is

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    resolver = SideResolver("test")
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(resolver.resolve("localhost"), 0.01)
    assert len(calls) == 1
    is_let.set()
    assert await resolver.resolve("localhost")
    await resolver.close()
    await eventually(lambda: len(calls) == 2)
