"""The simulator as a whole: its parts put together, and served on a real socket."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from email.utils import format_datetime

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from watcher.simulator.clock import ScenarioClock
from watcher.simulator.control import PREFIX, Control
from watcher.simulator.inflict import inflict
from watcher.simulator.play import Play
from watcher.simulator.request_log import Ended, RequestLog
from watcher.simulator.scenario import Scenario
from watcher.simulator.values import ScenarioError

log = logging.getLogger(__name__)

LARGEST_BODY_BYTES = 65_536
"""A control message is a handful of fields, or a script of a few bodies."""

SHUTDOWN_S = 0.5
"""Requests that hang on purpose are cut after this; a true answer takes a millisecond."""


def make_app(
    scenario: Scenario, clock: ScenarioClock, ended: Ended | None = None
) -> web.Application:
    """Build the simulator of one instance. Its scenario begins when the application starts.

    ``ended`` is told of every request to the cloud's paths when nothing more will come of it.
    """
    play = Play(scenario, clock)
    requests = RequestLog(clock, ended)

    async def start(_app: web.Application) -> AsyncIterator[None]:
        clock.start(cloud_ahead_s=scenario.cloud_ahead_s)
        playing = asyncio.create_task(play.run())
        yield
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing

    app = web.Application(
        middlewares=[_explain_refusals, _play_and_remember(play, clock, requests)],
        client_max_size=LARGEST_BODY_BYTES,
    )
    app.cleanup_ctx.append(start)
    app.add_routes([web.get(PREFIX + "requests", requests.list_requests)])
    app.add_routes(Control(clock, play).routes())
    app.add_routes(play.stage.routes())
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


def _play_and_remember(play: Play, clock: ScenarioClock, requests: RequestLog) -> Middleware:
    @web.middleware
    async def serve(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(PREFIX):
            return await handler(request)

        async def answer_truly(request: web.Request) -> web.StreamResponse:
            play.catch_up()  # once more: a slow answer tells what is true when it is given
            return await handler(request)

        play.catch_up()
        fault = play.faults.take(request.path)
        if fault:
            log.info("%s %s meets %s", request.method, request.raw_path, fault.kind)
        entry = requests.open(request, fault.kind if fault else None)
        try:
            answer = await (
                inflict(fault, request, answer_truly) if fault else answer_truly(request)
            )
            answer.headers.setdefault("Date", format_datetime(clock.wall_time(), usegmt=True))
            entry.status = answer.status
        except web.HTTPException as refusal:
            entry.status = refusal.status
            raise
        finally:
            requests.close(entry)
        log.info("%s %s -> %s", request.method, request.raw_path, answer.status)
        return answer

    return serve
