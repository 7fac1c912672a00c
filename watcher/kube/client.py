"""Requests to one API server: a time limit on each, and every failure one of our errors."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Self

import aiohttp

from watcher.errors import KubeError, KubeUnavailable
from watcher.kube.answers import JsonObject, parsed, stamped
from watcher.kube.bodies import (
    BODY_LIMIT_BYTES,
    LINE_LIMIT_BYTES,
    REFUSAL_LIMIT_BYTES,
    as_ours,
    lines,
    require_success,
    whole,
)
from watcher.kube.place import Place
from watcher.kube.sockets import probing
from watcher.kube.token import TokenFile

CALL_LIMIT_S = 2.0
"""Longest a call may take, in seconds; as an action may take 5 s, there is room for two of them."""

CONNECT_LIMIT_S = 1.0
"""Longest that a connection may take to be there."""

IDLE_LIMIT_S = 75.0
"""How long an idle connection is kept, in seconds; the API server itself closes it after 90 s.
Source: Kubernetes, apiserver/pkg/server/secure_serving.go, IdleTimeout (read 2026-11-30)."""

WARM_EVERY_S = 45.0
"""Seconds between requests that do nothing but keep a connection open: a fresh one with TLS costs
up to 60 ms just when a notice comes. /version is answered without etcd, and to everybody."""

CONNECTIONS = 32
"""Most connections: the watches, the Node, and evictions side by side."""

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    params: Mapping[str, str]
    timeout: aiohttp.ClientTimeout
    data: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class KubeClient:
    """Calls one API server; use it as an async context manager.

    Args:
        place: Where it is.
        tls: What checks its certificate, from :meth:`Place.tls`.
        is_dry_run: Whether every write is only judged by the server, and not stored.
        limit_s: Longest that a call may take, in seconds.
    """

    def __init__(
        self,
        place: Place,
        tls: ssl.SSLContext | None,
        *,
        is_dry_run: bool = False,
        limit_s: float = CALL_LIMIT_S,
    ) -> None:
        self.is_dry_run = is_dry_run
        self._url = place.url.rstrip("/")
        self._tls = tls
        self._limit_s = limit_s
        self._timeout = aiohttp.ClientTimeout(total=limit_s, sock_connect=CONNECT_LIMIT_S)
        self._token = TokenFile(place.token_file, asyncio.get_running_loop().time)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=CONNECTIONS,
                keepalive_timeout=IDLE_LIMIT_S,
                ssl=self._tls if self._tls is not None else True,
                socket_factory=probing,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity", "User-Agent": "reprieve-watcher"},
            auto_decompress=False,  # a few bytes might be gigabytes then, and none was asked for
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

    async def get(self, path: str, **query: str) -> JsonObject:
        """Return the object or list at a path; raises as :meth:`send` does."""
        return (await self.dated(path, **query))[0]

    async def dated(self, path: str, **query: str) -> tuple[JsonObject, datetime | None]:
        """Return what is at a path, and the server's clock then; raises as :meth:`send` does.

        Times in objects are by that clock, which may be far from ours. None if it is not told.
        """
        return await self._asked(_Request("GET", path, query, self._timeout))

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        media: str = _JSON,
        query: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Return the answer to one request, whose body is sent as JSON.

        Raises:
            KubeError: It was refused, or it is unknown what has become of it.
        """
        asked = dict(query or {})
        if self.is_dry_run and method != "GET":
            asked["dryRun"] = "All"
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": media}
        request = _Request(method, path, asked, self._timeout, data, headers)
        return (await self._asked(request))[0]

    @asynccontextmanager
    async def lines(
        self, path: str, silence_s: float, **query: str
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; its lines come until it ends, and none may take longer than ``silence_s``.

        Raises:
            KubeError: It was refused, has gone silent, or has broken off.
        """
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_LIMIT_S)
        what = f"watch {path}"
        with as_ours(what):
            async with (
                asyncio.timeout(self._limit_s) as limit,
                self._answered(_Request("GET", path, query, timeout)) as response,
            ):
                limit.reschedule(None)
                yield lines(response, what, silence_s)

    async def keep_warm(self) -> None:
        """Keep a connection open until cancelled, whatever becomes of each request."""
        while True:
            with suppress(KubeError):
                await self.get("/version")
            await asyncio.sleep(WARM_EVERY_S)

    async def _asked(self, request: _Request) -> tuple[JsonObject, datetime | None]:
        what = f"{request.method} {request.path}"
        async with self._answered(request) as response:
            body = await whole(response, what, BODY_LIMIT_BYTES)
            return parsed(body, what), stamped(response.headers)

    @asynccontextmanager
    async def _answered(self, request: _Request) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request, again with another token where the first is refused."""
        if self._session is None:
            raise RuntimeError("KubeClient is used outside its async with block")
        token: str | None = await self._token.current()
        what = f"{request.method} {request.path}"
        while token is not None:
            headers = {**request.headers, "Authorization": f"Bearer {token}"}
            with as_ours(what):
                async with self._session.request(
                    request.method,
                    self._url + request.path,
                    params=request.params,
                    data=request.data,
                    headers=headers,
                    timeout=request.timeout,
                    allow_redirects=False,
                    read_bufsize=LINE_LIMIT_BYTES // 2,
                ) as response:
                    if response.status != 401:
                        await require_success(response, what)
                        yield response
                        return
                    await whole(response, what, REFUSAL_LIMIT_BYTES)
            token = await self._token.renewed(token)
        raise KubeUnavailable(f"{what}: 401, the token is not good, and there is no newer one")
