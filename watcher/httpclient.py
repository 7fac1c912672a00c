"""The daemon's HTTP client: one keep-alive connection to one host, every call under a time limit.

Metadata servers are link-local and answer in milliseconds, so the client is strict where a general
one is obliging: no proxy from the environment (it would add X-Forwarded-For and be refused), no
redirect followed, no cookie kept, no body decompressed, no body beyond a cap.
"""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp

from watcher.errors import SourceMalformed, SourceUnavailable

CALL_LIMIT_S = 0.9
"""Longest a call may take, in seconds: a little less than the shortest poll interval of 1 s, so
that a server that hangs does not cost the next poll."""

BODY_LIMIT_BYTES = 64 * 1024
"""Largest body that is read; the largest real one is a list of scheduled events, a few KiB."""

_CONNECT_SHARE = 0.8
"""Part of the limit in which a connection has to be there, so that a firewall that drops packets
can be told from a server that hangs."""

_IDLE_LIMIT_S = 75.0
"""How long an idle connection is kept, in seconds. aiohttp's own 15 s would do for one poll a
second, but under throttling polls are further apart and jittered."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete HTTP answer; names of headers are case-insensitive."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Calls to one base URL over one connection; use it as an async context manager.

    Args:
        base_url: Where every path is; a slash at its end makes no difference.
        limit_s: Longest that a call may take, in seconds.
        body_limit_bytes: Largest body that is read.
    """

    def __init__(
        self,
        base_url: str,
        limit_s: float = CALL_LIMIT_S,
        *,
        body_limit_bytes: int = BODY_LIMIT_BYTES,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._limit_s = limit_s
        self._body_limit_bytes = body_limit_bytes
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1, keepalive_timeout=_IDLE_LIMIT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity", "User-Agent": "reprieve-watcher"},
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        data: bytes | None = None,
        *,
        limit_s: float | None = None,
    ) -> Answer:
        """Return the server's answer to one request, whatever its status; ``data`` is its body.

        The body is always read to its end: a connection with an unread body can't be used again.
        With ``limit_s`` the call may take longer, for an answer that is held back on purpose; the
        connection has to be there as soon as for any other.

        Raises:
            SourceUnavailable: No complete answer within the limit: ``unreachable`` if there was
                no connection, ``timeout`` if there was one and nothing came over it, else
                ``connection``: reset, cut short, or not HTTP.
            SourceMalformed: The body is larger than the client reads.
        """
        if self._session is None:
            raise RuntimeError("HttpClient is used outside its async with block")
        what = f"{method} {self._base_url}{path}"
        limit_s = self._limit_s if limit_s is None else limit_s
        timeout = aiohttp.ClientTimeout(total=limit_s, sock_connect=_CONNECT_SHARE * self._limit_s)
        url = self._base_url + path
        try:
            async with self._session.request(
                method, url, headers=headers, data=data, allow_redirects=False, timeout=timeout
            ) as response:
                body = await _body(response, what, self._body_limit_bytes)
                return Answer(response.status, response.headers, body)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            why = f"Cannot connect: {_why_not(error)}"
            raise SourceUnavailable(f"{what}: {why}", outcome="unreachable") from error
        except TimeoutError as error:
            raise SourceUnavailable(
                f"{what}: no answer within {limit_s:g} s", outcome="timeout"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            reason = f"{type(error).__name__}: {error}"[:256]
            raise SourceUnavailable(f"{what}: {reason}", outcome="connection") from error


def _why_not(error: aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) -> str:
    """Return the system's word for it, or TLS's, which say more than the client's, in fewer."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(error.certificate_error)[:256]
    if not isinstance(error, aiohttp.ClientConnectorError):
        return str(error)[:256]
    number = error.os_error.errno
    is_systems = not isinstance(error, aiohttp.ClientSSLError) and number in errno.errorcode
    return os.strerror(number or 0) if is_systems else str(error.os_error)[:256]


async def _body(response: aiohttp.ClientResponse, what: str, limit_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit_bytes:
            # The rest is not worth reading, so the connection can't be used again.
            response.close()
            raise SourceMalformed(f"{what}: the body is larger than {limit_bytes} bytes")
    return bytes(body)
