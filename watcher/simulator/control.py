"""The control path: how a test, a demo or a drill makes things happen. No cloud has these."""

import json

from aiohttp import web

from watcher.simulator.clock import ScenarioClock
from watcher.simulator.play import Play
from watcher.simulator.values import ScenarioError, table
from watcher.simulator.vocabulary import change_of

PREFIX = "/simulator/"


class Control:
    """Handlers under ``/simulator/``. Each raises ScenarioError for input that it refuses."""

    def __init__(self, clock: ScenarioClock, play: Play) -> None:
        self._clock = clock
        self._play = play
        self._words = play.stage.words

    def routes(self) -> list[web.RouteDef]:
        """List the routes; the last one takes what is left under the prefix."""
        changes = [web.post(PREFIX + name, self.make_change) for name in self._words]
        return [
            *changes,
            web.delete(PREFIX + "fault", self.lift_faults),
            web.route("*", PREFIX + "{path:.*}", self.refuse_unknown),
        ]

    async def make_change(self, request: web.Request) -> web.Response:
        """Let the change that the path names happen now; answer with what is in force."""
        name = request.path.removeprefix(PREFIX)
        return self._changed(name, _parsed(await request.read()))

    async def lift_faults(self, _request: web.Request) -> web.Response:
        """Lift all faults."""
        return self._changed("lift_faults", {})

    async def refuse_unknown(self, request: web.Request) -> web.Response:
        """Refuse what is no control, which would look like a path of the cloud's otherwise."""
        known = f"POST {', '.join(self._words)}; DELETE fault; GET requests"
        raise ScenarioError(f"{request.method} {request.path} is no control; there are {known}")

    def _changed(self, name: str, fields: dict[str, object]) -> web.Response:
        self._play.apply(change_of(self._words, name, fields, self._clock.elapsed_s()))
        return web.json_response(self._play.stage.in_force())


def _parsed(body: bytes) -> dict[str, object]:
    """Read a JSON object; no body at all is an empty one.

    Raises:
        ScenarioError: It is not one.
    """
    try:
        fields = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"the body is not JSON: {error}") from error
    return dict(table("the body", fields))
