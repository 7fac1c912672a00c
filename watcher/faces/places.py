"""Places for clients: how many there are, and who gives one up for the next client."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast


class Places:
    """Admits clients to a limited number of places.

    A client without a request under way gives its place up to a new one, the longest silent first,
    so that nobody keeps the probes out by only holding connections. Where every place is at work
    the new client is sent away at once.

    Args:
        limit: How many places there are. Each costs a descriptor, and without a limit anybody on
            the node could use up those that the flag needs.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken: dict[asyncio.BaseProtocol, _Client] = {}
        """By what serves them, the longest silent first."""

    def admit(self, serve: Callable[[], asyncio.Protocol]) -> asyncio.Protocol:
        """Return what the next client is served by: what ``serve`` makes, if there is a place."""
        if len(self._taken) >= self._limit and not self._free_one():
            return _SentAway()
        served = serve()
        self._taken[served] = client = _Client(served, self._heard_from, self._left)
        return client

    @contextmanager
    def working(self, served: asyncio.BaseProtocol) -> Iterator[None]:
        """Keep a client in its place for the block, in which it is answered."""
        client = self._taken.get(served)
        if client is None:  # it gave its place up in the moment when its request arrived
            yield
            return
        client.is_answered = True
        try:
            yield
        finally:
            client.is_answered = False

    def _free_one(self) -> bool:
        for served, client in self._taken.items():
            if not client.is_answered:
                del self._taken[served]
                client.send_away()
                return True
        return False

    def _heard_from(self, served: asyncio.Protocol) -> None:
        if served in self._taken:
            self._taken[served] = self._taken.pop(served)

    def _left(self, served: asyncio.Protocol) -> None:
        self._taken.pop(served, None)


class _Client(asyncio.Protocol):
    """Stands between a connection and what serves it, to see who speaks and who leaves."""

    def __init__(
        self,
        served: asyncio.Protocol,
        heard_from: Callable[[asyncio.Protocol], None],
        left: Callable[[asyncio.Protocol], None],
    ) -> None:
        self.is_answered = False
        self._served = served
        self._heard_from = heard_from
        self._left = left
        self._transport: asyncio.Transport | None = None
        self._is_sent_away = False

    def send_away(self) -> None:
        """Close the connection, now or as soon as it is made."""
        self._is_sent_away = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._served.connection_made(transport)
        if self._is_sent_away:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._left(self._served)
        self._served.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard_from(self._served)
        self._served.data_received(data)

    def eof_received(self) -> bool | None:
        return self._served.eof_received()

    def pause_writing(self) -> None:
        self._served.pause_writing()

    def resume_writing(self) -> None:
        self._served.resume_writing()


class _SentAway(asyncio.Protocol):
    """What a client meets for which there is no place."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).abort()
