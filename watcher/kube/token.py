"""The service account's token: a file that the kubelet renews, so it is read again and again."""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

from watcher.errors import KubeUnavailable
from watcher.side_thread import SideThread

log = logging.getLogger(__name__)

AGE_LIMIT_S = 50.0
"""Oldest that what was read may be, in seconds. The kubelet renews a token when 80 % of its hour
are over, and clients are to read it again once a minute. Source: Kubernetes documentation,
"Configure service accounts for pods", token projection (read 2026-11-30)."""

READ_LIMIT_S = 1.0
"""Longest that a call waits for the file; it goes on with what it has."""

_LIMIT_BYTES = 64 * 1024


class TokenFile:
    """Gives the newest token that is known.

    Args:
        path: The file.
        clock: Seconds that never go back, such as the loop's time.
    """

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._read_at: float | None = None
        self._told = ""
        self._thread = SideThread[str]("kube-token")

    async def current(self) -> str:
        """Return the token, read again when it is old.

        Raises:
            KubeUnavailable: No token could be read so far.
        """
        if self._read_at is None or self._clock() > self._read_at + AGE_LIMIT_S:
            await self._read()
        return self._token

    async def renewed(self, refused: str) -> str | None:
        """Return another token than the one that was refused, or None if there is none yet.

        Raises:
            KubeUnavailable: No token could be read so far.
        """
        if self._token == refused:
            await self._read()
        return self._token if self._token != refused else None

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(READ_LIMIT_S):
                token = await self._thread.call(lambda: self._content)
        except (OSError, ValueError, TimeoutError) as error:
            why = f"{self._path}: {str(error) or 'has not been read in time'}"
            if not self._token:
                raise KubeUnavailable(f"no service account token: {why}") from error
            if why != self._told:  # every call asks again
                log.warning("token not read again why=%s", why)
            self._told = why
            return
        self._token, self._read_at, self._told = token, self._clock(), ""

    def _content(self) -> str:
        """Return what is in the file; blocks. It is a link that the kubelet turns to a new one."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            token = file.read(_LIMIT_BYTES).decode("ascii").strip()
        if not token or not token.isprintable():
            raise ValueError("holds no token")
        return token
