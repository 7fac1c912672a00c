"""A client of the AWS simulator, and clocks for it that a test turns."""

from dataclasses import dataclass, field

import aiohttp

from watcher.simulator.clock import ScenarioClock

READY_UNIX_S = 1_796_036_400.75
"""2026-11-30T11:00:00.75Z: the fraction shows whether seconds are cut or rounded."""


class TurnedClock:
    """Both clocks of a scenario; they stand still unless turned."""

    def __init__(self) -> None:
        self.monotonic_s = 500.0
        self.wall_s = READY_UNIX_S
        self.scenario = ScenarioClock(monotonic=lambda: self.monotonic_s, wall=lambda: self.wall_s)

    def turn(self, by_s: float) -> None:
        """Let ``by_s`` seconds pass on both."""
        self.monotonic_s += by_s
        self.wall_s += by_s


@dataclass(frozen=True)
class Answer:
    """What came back, read to its end."""

    status: int
    content_type: str
    body: str
    headers: dict[str, str] = field(repr=False)


class Simulator:
    """A client of the simulator; ``token`` is valid from the start."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.token = ""
        self._session = session

    async def ask(self, method: str, path: str, headers: dict[str, str] | None = None) -> Answer:
        """Send exactly these headers and read the answer, redirects not followed."""
        sent = self._session.request(
            method, self.url + path, headers=headers, allow_redirects=False
        )
        async with sent as response:
            lowered = {name.lower(): value for name, value in response.headers.items()}
            kind = response.headers.get("Content-Type", "")
            return Answer(response.status, kind, await response.text(errors="replace"), lowered)

    async def mint(self, ttl_s: str = "21600") -> Answer:
        """Ask for a token."""
        headers = {"X-aws-ec2-metadata-token-ttl-seconds": ttl_s}
        return await self.ask("PUT", "/latest/api/token", headers)

    async def get(self, path: str) -> Answer:
        """Get a path under /latest/ with the token."""
        headers = {"X-aws-ec2-metadata-token": self.token}
        return await self.ask("GET", "/latest/" + path, headers)

    async def control(self, method: str, path: str, body: object = None) -> dict[str, object]:
        """Use the control path, which must accept."""
        url = f"{self.url}/simulator/{path}"
        async with self._session.request(method, url, json=body) as response:
            assert response.status == 200, await response.text()
            answer: dict[str, object] = await response.json()
            return answer

    async def refusal(self, path: str, body: bytes) -> str:
        """Send ``body`` to a control path that must refuse it; return the reason."""
        async with self._session.post(f"{self.url}/simulator/{path}", data=body) as response:
            assert response.status == 400, await response.text()
            answer: dict[str, str] = await response.json()
            return answer["error"]

    async def requests(self) -> list[dict[str, object]]:
        """Return the request log."""
        async with self._session.get(f"{self.url}/simulator/requests") as response:
            answer: dict[str, list[dict[str, object]]] = await response.json()
            return answer["requests"]

    async def fault_met(self) -> dict[str, object]:
        """Wait until a fault has happened to a request and return the request."""
        met: list[dict[str, object]] = []
        while not met:
            met = [entry for entry in await self.requests() if entry["fault"]]
        return met[0]
