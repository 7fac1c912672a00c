"""Requests to one API server: a time limit on each, and every failure one of our errors."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import aiohttp

from watcher.errors import KubeError, KubeUnavailable
from watcher.kube.answers import JsonObject, parsed
from watcher.kube.bodies import (
    BODY_LIMIT_BYTES,
    LINE_LIMIT_BYTES,
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
        return await self.send("GET", path, query=query)

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
        timeout = aiohttp.ClientTimeout(total=self._limit_s, sock_connect=CONNECT_LIMIT_S)
        request = _Request(method, path, asked, timeout, data, headers)
        async with self._answered(request) as response:
            what = f"{method} {path}"
            return parsed(await whole(response, what, BODY_LIMIT_BYTES), what)

    @asynccontextmanager
    async def lines(
        self, path: str, silence_s: float, **query: str
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; its lines come until it ends, and none may take longer than ``silence_s``.

        Raises:
            KubeError: It was refused, has gone silent, or has broken off.
        """
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_LIMIT_S, sock_read=silence_s)
        what = f"watch {path}"
        with as_ours(what):
            async with (
                asyncio.timeout(self._limit_s) as limit,
                self._answered(_Request("GET", path, query, timeout)) as response,
            ):
                limit.reschedule(None)
                yield lines(response, what)

    async def keep_warm(self) -> None:
        """Keep a connection open until cancelled, whatever becomes of each request."""
        while True:
            with suppress(KubeError):
                await self.get("/version")
            await asyncio.sleep(WARM_EVERY_S)

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
                    await response.read()
            token = await self._token.renewed(token)
        raise KubeUnavailable(f"{what}: 401, the token is not good, and there is no newer one")
