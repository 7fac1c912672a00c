"""Serves the faces over HTTP; a failure here never stops the daemon."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Middleware

from watcher.config import Address
from watcher.faces.places import Places

log = logging.getLogger(__name__)
_answering = logging.getLogger(f"{__name__}.answering")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_RETRY_S = 5.0
"""Seconds between attempts to get an address that somebody else has."""

_IDLE_LIMIT_S = 10.0
"""Seconds within which a connection has to bring a complete request, before it is closed."""

_PLACES = 64
"""How many clients are served at a time."""

_BACKLOG = 16
"""How many connections the system keeps for us, and asyncio accepts in one go."""

_ACCEPT_FAILED = "socket.accept() out of system resource"
"""What asyncio calls it. Source: CPython 3.11, Lib/asyncio/selector_events.py."""

_QUIET_S = 60.0

_LINE_LIMIT_BYTES = 4096
_OUR_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


async def keep_serving(
    routes: Mapping[str, Handler],
    address: Address,
    bound: asyncio.Future[str],
    *,
    name: str = "faces",
) -> None:
    """Serve GETs of ``routes`` until cancelled, under a ``name`` for the log.

    ``bound`` gets the base URL after the first attempt, or ``none`` when the address can't be had:
    that is logged and tried again, because a node without a status page is still protected.
    """
    places = Places(_PLACES)
    app = web.Application(
        middlewares=[_keeping_place(places), _refuse_foreign_hosts],
        client_max_size=_LINE_LIMIT_BYTES,
    )
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_answering,
        handler_cancellation=True,  # who leaves waits for nothing any more
        keepalive_timeout=_IDLE_LIMIT_S,
        lingering_time=0,
        max_line_size=_LINE_LIMIT_BYTES,
        max_field_size=_LINE_LIMIT_BYTES,
        shutdown_timeout=0.5,
    )
    _answering.addFilter(_is_our_fault)
    await runner.setup()
    asyncio.get_running_loop().set_exception_handler(_AcceptFaults())
    listening = None
    try:
        admit = partial(places.admit, cast("web.Server", runner.server))
        while (listening := await _listen(admit, address, name)) is None:
            if not bound.done():
                bound.set_result("none")
            await asyncio.sleep(_RETRY_S)
        host, port = listening.sockets[0].getsockname()[:2]
        url = f"http://{Address(host, port)}"
        log.info("%s served listen=%s", name, url)
        if not bound.done():
            bound.set_result(url)
        await asyncio.Event().wait()
    finally:
        if listening is not None:
            listening.close()
        await runner.cleanup()


def _is_our_fault(record: logging.LogRecord) -> bool:
    """Keep what is no HTTP out of the log; the client is told so with a 400.

    aiohttp logs it as an error with a traceback, and so anybody who reaches the port could fill the
    log, and hide in it what matters.
    """
    failure = record.exc_info[1] if record.exc_info else None
    if not isinstance(failure, HttpProcessingError):
        return True
    log.debug("request refused why=%s", failure.message)
    return False


async def _listen(
    admit: Callable[[], asyncio.Protocol], address: Address, name: str
) -> asyncio.Server | None:
    """Serve from now on what ``admit`` lets in; None when that can't be."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(admit, address.host, address.port, backlog=_BACKLOG)
    except OSError as error:
        log.error("%s not served listen=%s why=%s retry_s=%s", name, address, error, _RETRY_S)  # noqa: TRY400 - the reason is in the text, a traceback would hide it
        return None


class _AcceptFaults:
    """Says once a minute that connections can't be accepted.

    asyncio says so with a traceback for each place in the backlog, and again every second.
    """

    def __init__(self) -> None:
        self._quiet_until_s = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context["message"] != _ACCEPT_FAILED:
            loop.default_exception_handler(context)
        elif loop.time() >= self._quiet_until_s:
            self._quiet_until_s = loop.time() + _QUIET_S
            log.error("faces accept nobody why=%s quiet_s=%s", context["exception"], _QUIET_S)


def _keeping_place(places: Places) -> Middleware:
    """Return what keeps a client in its place while it is answered."""

    @web.middleware
    async def keep(request: web.Request, handler: Handler) -> web.StreamResponse:
        with places.working(request.protocol):
            return await handler(request)

    return keep


@web.middleware
async def _refuse_foreign_hosts(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer only under loopback names and the address the connection came in on.

    A web page that has rebound its own name to this machine sends that name as Host.
    """
    names = set(_OUR_NAMES)
    if request.transport is not None:
        names.add(request.transport.get_extra_info("sockname")[0])
    try:
        host = urlsplit("//" + request.headers.get("Host", "")).hostname
    except ValueError:
        host = None
    if host not in names:
        raise web.HTTPForbidden(text="this address is not served under that Host\n")
    return await handler(request)
