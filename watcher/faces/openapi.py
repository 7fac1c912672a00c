"""/openapi.json: the description of all faces, for programs; ``openapi.json`` beside this file."""

import asyncio
from importlib.resources import files

from aiohttp import web

PATH = "/openapi.json"


def document() -> bytes:
    """Return the description: OpenAPI 3.1, as JSON."""
    return files("watcher.faces").joinpath("openapi.json").read_bytes()


async def openapi(_request: web.Request) -> web.Response:
    """Show it as it is in the package; what it says of each face is held against that in tests."""
    body = await asyncio.to_thread(document)
    return web.Response(body=body, content_type="application/json")
