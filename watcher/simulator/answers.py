"""How EC2's metadata service words its answers, and how it falls silent.

Source: EC2 user guide, "Retrieve instance metadata" (read 2026-11-30).
"""

import asyncio
import json
from http import HTTPStatus
from typing import NoReturn

from aiohttp import web

TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"


def plain_text(body: str, *, ttl_s: int | None = None) -> web.Response:
    """Answer 200 as EC2 does: text/plain whatever the body is, and the token's seconds left."""
    return web.Response(body=body.encode(), content_type="text/plain", headers=_ttl_echo(ttl_s))


def error_page(status: HTTPStatus, *, ttl_s: int | None = None) -> web.Response:
    """Answer with an error as EC2 does: the status counts, the body is a page for a browser."""
    title = f"{status.value} - {status.phrase}"
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
    headers = _ttl_echo(ttl_s)
    return web.Response(status=status, text=page, content_type="text/html", headers=headers)


async def no_answer() -> NoReturn:
    """Wait to be cancelled, which the server does when the connection is gone."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def compact_json(document: object) -> str:
    """Write JSON without spaces, on one line."""
    return json.dumps(document, separators=(",", ":"))


def _ttl_echo(ttl_s: int | None) -> dict[str, str]:
    return {} if ttl_s is None else {TTL_HEADER: str(ttl_s)}
