"""What answers where SQS should: the test says with which words, headers and at which pace."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from lab.moto import CREDENTIALS

PROOF = {"x-amzn-requestid": "5b3a9d9e-0000-4000-8000-000000000001"}
"""What SQS writes into the header of every answer."""

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


def said(body: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Answering:
    """Return what answers every call with this; a text stays as it is, for a page."""
    is_page = isinstance(body, str)

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(
            status=status,
            text=body if isinstance(body, str) else json.dumps(body),
            content_type="text/html" if is_page else "application/x-amz-json-1.0",
            headers=PROOF if headers is None else headers,
        )

    return answer


class ScriptedSqs:
    """A running one."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}/123456789012/scripted"
        """Of a queue in it."""
        self.asked: list[str] = []
        """What it was asked to do, call by call."""


@asynccontextmanager
async def scripted_sqs(
    answer: Answering, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ScriptedSqs]:
    """Run it, and let boto3 find it."""

    async def noted(request: web.Request) -> web.StreamResponse:
        made.asked.append(request.headers["X-Amz-Target"].rpartition(".")[2])
        return await answer(request)

    app = web.Application()
    app.router.add_post("/{path:.*}", noted)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = "http://{}:{}".format(*runner.addresses[0][:2])
    made = ScriptedSqs(url)
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL_SQS": url}.items():
        monkeypatch.setenv(name, value)
    try:
        yield made
    finally:
        await runner.cleanup()
