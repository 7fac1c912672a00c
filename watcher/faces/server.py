"""Serves the faces over HTTP; a failure here never stops the daemon."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from aiohttp import web

from watcher.config import Address

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_RETRY_S = 5.0
"""Seconds between attempts to get an address that somebody else has."""

_IDLE_LIMIT_S = 10.0
"""Seconds within which a connection has to bring a complete request, before it is closed."""

_LINE_LIMIT_BYTES = 4096
_OUR_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


async def keep_serving(
    routes: Mapping[str, Handler], address: Address, bound: asyncio.Future[str]
) -> None:
    """Serve GETs of ``routes`` until cancelled.

    ``bound`` gets the base URL after the first attempt, or ``none`` when the address can't be had:
    that is logged and tried again, because a node without a status page is still protected.
    """
    app = web.Application(middlewares=[_refuse_foreign_hosts], client_max_size=_LINE_LIMIT_BYTES)
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    runner = web.AppRunner(
        app,
        access_log=None,
        keepalive_timeout=_IDLE_LIMIT_S,
        lingering_time=0,
        max_line_size=_LINE_LIMIT_BYTES,
        max_field_size=_LINE_LIMIT_BYTES,
        shutdown_timeout=0.5,
    )
    await runner.setup()
    try:
        while not (url := await _bind(runner, address)):
            if not bound.done():
                bound.set_result("none")
            await asyncio.sleep(_RETRY_S)
        if not bound.done():
            bound.set_result(url)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


async def _bind(runner: web.AppRunner, address: Address) -> str:
    """Return the base URL that is served from now on; an empty text when that can't be."""
    site = web.TCPSite(runner, address.host, address.port)
    try:
        await site.start()
    except OSError as error:
        await site.stop()
        log.error("faces not served listen=%s why=%s retry_s=%s", address, error, _RETRY_S)  # noqa: TRY400 - the reason is in the text, a traceback would hide it
        return ""
    host, port = runner.addresses[0][:2]
    url = f"http://{Address(host, port)}"
    log.info("faces served listen=%s", url)
    return url


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
