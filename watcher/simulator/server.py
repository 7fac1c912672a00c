"""The simulator as a whole: its parts put together, and served on a real socket."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from watcher.simulator.aws import AwsMetadata
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.control import PREFIX, Control
from watcher.simulator.faults import Faults
from watcher.simulator.inflict import inflict
from watcher.simulator.instance import Instance
from watcher.simulator.request_log import RequestLog
from watcher.simulator.scenario import Scenario, ScenarioError
from watcher.simulator.tokens import Tokens

log = logging.getLogger(__name__)

LARGEST_BODY_BYTES = 4096
"""A control message is a handful of fields."""

SHUTDOWN_S = 0.5
"""Requests that hang on purpose are cut after this; a true answer takes a millisecond."""


def make_app(scenario: Scenario, clock: ScenarioClock) -> web.Application:
    """Build the simulator of one instance. Its scenario begins when the application starts."""
    instance = Instance(scenario, clock)
    tokens = Tokens(clock, scenario.token_ttl_cap_s)
    faults = Faults(clock)
    requests = RequestLog(clock)

    async def start_clock(_app: web.Application) -> None:
        clock.start()

    app = web.Application(
        middlewares=[_explain_refusals, _fail_and_remember(faults, requests)],
        client_max_size=LARGEST_BODY_BYTES,
    )
    app.on_startup.append(start_clock)
    app.add_routes([web.get(PREFIX + "requests", requests.list_requests)])
    app.add_routes(Control(clock, instance, tokens, faults).routes())
    app.add_routes(AwsMetadata(scenario, instance, tokens).routes())
    return app


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Serve ``app`` inside the block, and give its URL; port 0 takes any free one.

    Raises:
        OSError: The address can't be listened on.
    """
    # A handler is cancelled when its client leaves: that is how a hanging request ends.
    runner = web.AppRunner(
        app, access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_S
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound_host, bound_port = runner.addresses[0][:2]
        yield f"http://{f'[{bound_host}]' if ':' in bound_host else bound_host}:{bound_port}"
    finally:
        await runner.cleanup()


@web.middleware
async def _explain_refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except ScenarioError as error:
        return web.json_response({"error": str(error)}, status=400)


def _fail_and_remember(faults: Faults, requests: RequestLog) -> Middleware:
    @web.middleware
    async def serve(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(PREFIX):
            return await handler(request)
        fault = faults.take(request.path)
        if fault:
            log.info("%s %s meets %s", request.method, request.raw_path, fault.kind)
        entry = requests.open(request, fault.kind if fault else None)
        try:
            answer = await (inflict(fault, request, handler) if fault else handler(request))
        except web.HTTPException as refusal:
            entry.status = refusal.status
            raise
        entry.status = answer.status
        log.info("%s %s -> %s", request.method, request.raw_path, answer.status)
        return answer

    return serve
