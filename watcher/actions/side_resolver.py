"""Looks up names in a side thread of its own.

aiohttp would do it in the loop's thread pool: lookups that hang there would hold up whoever else
uses it, and the end of the daemon, which waits for that pool.
"""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult

from watcher.side_thread import SideThread


class SideResolver(AbstractResolver):
    """One owner's lookups, one at a time; a caller that gives up leaves its own running."""

    def __init__(self, name: str) -> None:
        self._thread = SideThread[list[ResolveResult]](name)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the host's addresses.

        Raises:
            OSError: There are none, or nobody knows.
        """
        return await self._thread.call(lambda: lambda: _looked_up(host, port, family))

    async def close(self) -> None:
        """Do nothing: it goes on being used by the next session."""


def _looked_up(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    """Look a name up; blocks."""
    found = socket.getaddrinfo(
        host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
    )
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=int(address[1]),
            family=kind,
            proto=proto,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for kind, _, proto, _, address in found
    ]
