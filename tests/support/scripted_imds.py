"""A metadata server that plays a script: any answer, and the ways an answer can fail to come."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

PREFIX = "/latest/meta-data/"
TOKEN_PATH = "/latest/api/token"  # noqa: S105 - a path, not a secret
TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN_HEADER = "X-aws-ec2-metadata-token"  # noqa: S105 - a header's name, not a secret


@dataclass(frozen=True)
class Reply:
    """One scripted answer; a fault replaces it on the wire."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""


class ScriptedImds:
    """A metadata server that plays, path by path, a list of replies; the last one stays.

    Unscripted paths are 404. The token is enforced as on EC2 unless its path is scripted or none is
    needed.
    """

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.connections: dict[object, set[str]] = {}
        self.token_ttl_s = 21_600
        self.needs_token = True
        self.tokens: set[str] = set()
        self.everything: Reply | None = None
        """The answer to whatever is asked, for a server that is nobody's metadata service."""
        self._scripts: dict[str, list[Reply]] = {}
        self._changed = asyncio.Condition()

    def play(self, path: str, *replies: Reply) -> None:
        """Answer ``path`` with these from now on; a name without a slash first is meta-data."""
        self._scripts[path if path.startswith("/") else PREFIX + path] = list(replies)

    def json(self, body: str) -> Reply:
        """Build a positive answer, text/plain as EC2 sends it."""
        return Reply(200, body.encode())

    def fault(self, kind: str) -> Reply:
        """Build a hang, a reset, or a half body."""
        return Reply(fault=kind)

    def status(self, status: int, body: bytes = b"", **headers: str) -> Reply:
        """Build an answer with this status."""
        return Reply(status, body, headers)

    def count(self, path: str) -> int:
        """Tell how often ``path`` was asked for."""
        full = path if path.startswith("/") else PREFIX + path
        return Counter(path for _, path in self.requests)[full]

    async def seen(self, path: str, times: int = 1) -> None:
        """Wait until ``path`` has been asked for so many times in all."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: self.count(path) >= times)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Play the next reply for the path."""
        self.requests.append((request.method, request.path))
        self.headers.append(dict(request.headers))
        self.connections.setdefault(request.transport, set()).add(request.path)
        async with self._changed:
            self._changed.notify_all()
        if self.everything is not None:
            return await self._send(request, self.everything)
        script = self._scripts.get(request.path)
        if script is None and request.path == TOKEN_PATH:
            return self._mint()
        is_refused = self.needs_token and request.headers.get(TOKEN_HEADER) not in self.tokens
        if request.path != TOKEN_PATH and is_refused:
            return web.Response(status=401)
        reply = Reply(404, b"<html>404 - Not Found</html>")
        if script:
            reply = script.pop(0) if len(script) > 1 else script[0]
        return await self._send(request, reply)

    def _mint(self) -> web.Response:
        token = f"AQAE{len(self.requests)}=="
        self.tokens.add(token)
        return web.Response(text=token, headers={TTL_HEADER: str(self.token_ttl_s)})

    async def _send(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        if reply.fault == "hang":
            await asyncio.sleep(30)
        if reply.fault == "reset" and request.transport is not None:
            request.transport.abort()
        if reply.fault == "half_body" and request.transport is not None:
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(request)
            await response.write(b'{"action":')
            request.transport.close()
            return response
        return web.Response(status=reply.status, body=reply.body, headers=reply.headers)


@asynccontextmanager
async def scripted_imds() -> AsyncIterator[ScriptedImds]:
    """Run a scripted metadata server on loopback."""
    server = ScriptedImds()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = "http://{}:{}".format(*runner.addresses[0][:2])
    yield server
    await runner.cleanup()
