"""How EC2's metadata service words its answers.

Source: EC2 user guide, "Retrieve instance metadata" (read 2026-11-30).
"""

from http import HTTPStatus

from aiohttp import web

from watcher.simulator import answers

TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"

SERVER = {"Server": "EC2ws"}
"""In every answer.

Source: Snowball Edge developer guide, "IMDS code examples" (read 2026-11-30)."""


def plain_text(body: str, *, ttl_s: int | None = None) -> web.Response:
    """Answer 200 as EC2 does: text/plain whatever the body is, and the token's seconds left."""
    return web.Response(body=body.encode(), content_type="text/plain", headers=_headers(ttl_s))


def error_page(status: HTTPStatus, *, ttl_s: int | None = None) -> web.Response:
    """Answer with an error as EC2 does: the status counts, the body is a page for a browser."""
    page = answers.error_page(status)
    page.headers.update(_headers(ttl_s))
    return page


def _headers(ttl_s: int | None) -> dict[str, str]:
    return SERVER if ttl_s is None else {**SERVER, TTL_HEADER: str(ttl_s)}
