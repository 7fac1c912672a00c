"""The fake over HTTP: paths, tokens, faults, and a record of every call."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.fakes.kube.access import Access, Call, Subject, Target, require
from tests.fakes.kube.api import Api
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.discovery import described
from tests.fakes.kube.faults import Faults, Garbage, Trouble
from tests.fakes.kube.kinds import Obj, kind_at
from tests.fakes.kube.refusals import Refusal, bad_request
from tests.fakes.kube.store import Store
from tests.fakes.kube.watch import Order, Selection, Watch

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class FakeApiServer:
    """One API server; made with :func:`fake_api_server`.

    Attributes:
        url: Where it is.
        cluster: Puts objects there and plays kubelet and controllers.
        access: Tokens, their rights, and every call.
        faults: What goes wrong.
        api: The verbs, with the admission policies.
        watches: The watches that are open.
        connections: How many connections were made so far.
    """

    def __init__(self, now: Callable[[], datetime], tls: ssl.SSLContext | None) -> None:
        self.url = ""
        self.store = Store(now)
        self.cluster = Cluster(self.store)
        self.access = Access()
        self.faults = Faults()
        self.api = Api(self.store)
        self.watches: list[Watch] = []
        self._peers: set[Any] = set()
        self._tls = tls
        self._runner: web.AppRunner | None = None

    @property
    def connections(self) -> int:
        """How many connections have carried a request so far."""
        return len(self._peers)

    def order(self, order: Order) -> None:
        """Have every open watch do something."""
        for watch in self.watches:
            watch.order(order)
        self.store.nudge()

    async def away(self) -> None:
        """Refuse connections from now on, and break those that are there."""
        assert self._runner is not None
        await self._runner.cleanup()
        self._runner = None

    async def back(self, port: int = 0) -> None:
        """Take connections, after :meth:`away` at the same address as before."""
        app = web.Application()
        app.on_response_prepare.append(self._date)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05)
        await runner.setup()
        port = int(self.url.rpartition(":")[2]) if self.url else port
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=self._tls).start()
        scheme = "https" if self._tls else "http"
        self.url = "{}://{}:{}".format(scheme, *runner.addresses[0][:2])
        self._runner = runner

    async def _date(self, _request: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = format_datetime(self.store.now(), usegmt=True)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        self._peers.add(request.transport.get_extra_info("peername"))
        try:
            subject = self.access.subject(request.headers.get("Authorization", ""))
            if (shown := described(request.path.rstrip("/"))) is not None:
                return web.json_response(shown)
            target = _target(request)
        except Refusal as refusal:
            return _sent(refusal.code, refusal.body, refusal)
        return await self._answer(request, subject, target)

    async def _answer(
        self, request: web.Request, subject: Subject, target: Target
    ) -> web.StreamResponse:
        body, status = await request.read(), 0
        try:
            trouble = self.faults.next(target)
            if isinstance(trouble, Refusal):
                raise trouble
            if isinstance(trouble, Garbage):
                return _said(trouble)
            if trouble in (Trouble.HANG, Trouble.RESET):
                return await self._dropped(request, trouble)
            require(subject, target)
            if target.verb == "watch":
                status = 200
                return await self._watch(request, target)
            status, shown = self._do(request, subject, target, body)
            if trouble is Trouble.LOST:
                return await self._dropped(request, trouble)
            return _sent(status, shown)
        except Refusal as refusal:
            status = refusal.code
            return _sent(status, refusal.body, refusal)
        finally:
            said = _json(body) if body else None
            self.access.calls.append(
                Call(
                    target.verb,
                    target.kind.group,
                    target.resource,
                    target.namespace,
                    target.name,
                    subject.name,
                    status,
                    said,
                    dict(request.query),
                )
            )

    def _do(
        self, request: web.Request, subject: Subject, target: Target, body: bytes
    ) -> tuple[int, Obj]:
        query = dict(request.query)
        match target.verb:
            case "get" | "list":
                return self.api.read(target, query)
            case "create":
                return self.api.create(subject, target, query, _object(body))
            case "update":
                return self.api.update(subject, target, query, _object(body))
            case "patch":
                media = request.content_type
                return self.api.patch(subject, target, query, (media, body))
            case _:
                return self.api.delete(target, query, _object(body) if body else {})

    async def _watch(self, request: web.Request, target: Target) -> web.StreamResponse:
        query = dict(request.query)
        watch = Watch(self.store, Selection(target.kind, target.namespace, query), query)
        self.watches.append(watch)
        try:
            return await watch.serve(request)
        finally:
            self.watches.remove(watch)

    async def _dropped(self, request: web.Request, trouble: Trouble) -> web.StreamResponse:
        if trouble is Trouble.HANG:
            await self.faults.lifted()
        if request.transport is not None:
            request.transport.abort()
        return web.Response()


def _target(request: web.Request) -> Target:
    """Return what a path is about, in the words of RBAC."""
    parts = request.path.strip("/").split("/")
    where, rest = (("", *parts[1:2]), parts[2:]) if parts[0] == "api" else (parts[1:3], parts[3:])
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    kind = kind_at(where[0], where[1], rest[0]) if len(where) == 2 and rest else None
    if kind is None or len(rest) > 3:
        raise Refusal(404, "NotFound", "the server could not find the requested resource")
    name, subresource = (*rest[1:], "", "")[:2]
    verb = _VERBS.get(request.method, "get")
    if verb == "get" and not name:
        verb = "watch" if request.query.get("watch", "") in ("1", "true") else "list"
    is_named = verb in ("get", "update", "patch", "delete") or subresource == "eviction"
    if bool(name) is not is_named:
        message = "the server does not allow this method on the requested resource"
        raise Refusal(405, "MethodNotAllowed", message)
    return Target(verb, kind, subresource, namespace, name)


def _object(body: bytes) -> Obj:
    said = _json(body)
    if not isinstance(said, dict):
        raise bad_request("the body is no JSON object")
    return said


def _json(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON it was
    try:
        return json.loads(body)
    except ValueError:
        return None


def _sent(status: int, shown: Obj, refusal: Refusal | None = None) -> web.Response:
    return web.json_response(shown, status=status, headers=refusal.headers if refusal else None)


def _said(garbage: Garbage) -> web.Response:
    headers = {"Content-Encoding": garbage.encoding} if garbage.encoding else None
    return web.Response(body=garbage.body, status=garbage.status, headers=headers)


def _wall() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def fake_api_server(
    now: Callable[[], datetime] = _wall, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[FakeApiServer]:
    """Run one on loopback."""
    server = FakeApiServer(now, tls)
    await server.back()
    try:
        yield server
    finally:
        server.faults.lift()
        if server._runner is not None:
            await server.away()
        await asyncio.sleep(0)
