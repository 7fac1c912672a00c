"""Google on loopback, as a script: the metadata server's words and any API, token checked."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

METADATA = "/computeMetadata/v1/"
TOKEN = "instance/service-accounts/default/token"  # noqa: S105 - a path, not a secret
ME = "1234567890123456789"
IDENTITY = {
    "project/project-id": "my-proj",
    "instance/zone": "projects/4711/zones/europe-west1-b",
    "instance/name": "node-1",
    "instance/id": ME,
}
"""As in the reference sheet on cloud reclaim contracts, sections 2.1 and 2.5."""


HANG = (200, object())
"""An answer that does not come."""


@dataclass(frozen=True)
class Asked:
    """One request as the server saw it."""

    method: str
    path: str
    authorization: str
    body: bytes

    @property
    def said(self) -> Any:  # noqa: ANN401 - whatever JSON it was
        """What the body says."""
        return json.loads(self.body)


class ScriptedGoogle:
    """Answers path by path from a list of answers; the last one stays.

    An answer is a status with what goes out as JSON, or as it is where it is a text. The metadata
    server's own words are there from the start; an API's path that is not scripted is 404.
    """

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.good_token = "token-1"  # noqa: S105 - no secret
        self.given_token = self.good_token
        self.token_lasts_s: object = 3599
        self.flavor = "Google"
        self._scripts: dict[str, list[tuple[int, object]]] = {
            METADATA + path: [(200, word)] for path, word in IDENTITY.items()
        }
        self.play("universe/universe-domain", (200, "googleapis.com"))
        self.play("instance/service-accounts/default/", (200, {"email": "me", "scopes": ["all"]}))

    def play(self, path: str, *answers: tuple[int, object]) -> None:
        """Answer ``path`` with these from now on; one without a slash first is metadata."""
        self._scripts[path if path.startswith("/") else METADATA + path] = list(answers)

    def of(self, path: str) -> list[Asked]:
        """Return the requests for a path, without their query."""
        full = path if path.startswith("/") else METADATA + path
        return [one for one in self.asked if one.path.partition("?")[0] == full]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Play the next answer for the path."""
        said = request.headers.get("Authorization", "")
        self.asked.append(Asked(request.method, request.path_qs, said, await request.read()))
        if request.path == "/":  # Google's libraries ask whether it is there at all
            return self._send(200, "computeMetadata/")
        is_metadata = request.path.startswith(METADATA)
        if is_metadata and request.headers.get("Metadata-Flavor") != "Google":
            return web.Response(status=403)
        if not is_metadata and said != f"Bearer {self.good_token}":
            return self._send(401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}})
        script = self._scripts.get(request.path)
        if script is None and request.path == METADATA + TOKEN:
            token = {"access_token": self.given_token, "expires_in": self.token_lasts_s}
            return self._send(200, token | {"token_type": "Bearer"})
        if not script:
            return self._send(404, {"error": {"code": 404, "status": "NOT_FOUND"}})
        answer = script.pop(0) if len(script) > 1 else script[0]
        if answer is HANG:
            await asyncio.sleep(60)
        return self._send(*answer)

    def _send(self, status: int, said: object) -> web.Response:
        kind = "application/text" if isinstance(said, str) else "application/json"
        text = said if isinstance(said, str) else json.dumps(said)
        return web.Response(
            status=status, text=text, content_type=kind, headers={"Metadata-Flavor": self.flavor}
        )


@asynccontextmanager
async def scripted_google() -> AsyncIterator[ScriptedGoogle]:
    """Run it on loopback."""
    server = ScriptedGoogle()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = "http://{}:{}".format(*runner.addresses[0][:2])
    yield server
    await runner.cleanup()
