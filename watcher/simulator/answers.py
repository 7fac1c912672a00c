"""What answers of every metadata service have in common, and how one falls silent."""

import asyncio
import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import NoReturn

from aiohttp import web


def error_page(status: HTTPStatus) -> web.Response:
    """Answer with an error: the status counts, the body is a page for a browser."""
    title = f"{status.value} - {status.phrase}"
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
    return web.Response(status=status, text=page, content_type="text/html")


async def no_answer() -> NoReturn:
    """Wait to be cancelled, which the server does when the connection is gone."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def children(paths: Iterable[str], directory: str) -> list[str]:
    """List what is directly in ``directory``, in order; what has more below it ends in a slash."""
    found = set()
    for path in paths:
        if path.startswith(directory):
            child, slash, _ = path.removeprefix(directory).partition("/")
            found.add(child + slash)
    return sorted(found)


def compact_json(document: object) -> str:
    """Write JSON without spaces, on one line."""
    return json.dumps(document, separators=(",", ":"))
