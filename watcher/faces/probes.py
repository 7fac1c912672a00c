"""The probes: is the daemon alive, does it see, and what has it counted."""

from collections.abc import Callable, Sequence

from aiohttp import web
from prometheus_client import generate_latest

from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Moment, rfc3339


class Probes:
    """Answers /healthz, /readyz and /metrics.

    Args:
        healths: One for each enabled source.
        metrics: What /metrics shows.
        blind_limit_s: Seconds a source may be blind before the daemon is not ready.
        now: Reads both clocks.
    """

    def __init__(
        self,
        healths: Sequence[SourceHealth],
        metrics: Metrics,
        blind_limit_s: float,
        now: Callable[[], Moment],
    ) -> None:
        self._healths = healths
        self._metrics = metrics
        self._blind_limit_s = blind_limit_s
        self._now = now

    async def healthz(self, _request: web.Request) -> web.Response:
        """Say that the loop runs. A blind daemon is alive: a restart would not make it see."""
        return web.Response(text="ok\n")

    async def readyz(self, _request: web.Request) -> web.Response:
        """Say whether every source has answered and none is blind for longer than the limit."""
        now = self._now()
        unfit = [
            {
                "source": health.source,
                "key": key,
                "blind_since": rfc3339(state.blind_since.wall),
                "blind_since_unix_s": state.blind_since.wall.timestamp(),
                "why": state.why,
            }
            for health in self._healths
            for key, state in health.unfit(now, self._blind_limit_s).items()
            if state.blind_since
        ]
        return web.json_response({"ready": not unfit, "unfit": unfit}, status=503 if unfit else 200)

    async def metrics(self, _request: web.Request) -> web.Response:
        """Show every metric in Prometheus's text format."""
        body = generate_latest(self._metrics.registry)
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4"})
