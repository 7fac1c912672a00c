"""Moto's server behind a proxy that keeps some calls from it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession, web

from tests.support.moto_aws import Moto

_CALL = "X-Amz-Target"
_DELETE = "AmazonSQS.DeleteMessageBatch"


class Proxy:
    """Passes everything on but deletes of messages, which never get an answer.

    Attributes:
        url: Where it is, for AWS_ENDPOINT_URL.
        held: Is set when the first delete is there.
    """

    def __init__(self, moto: Moto, session: ClientSession) -> None:
        self.held = asyncio.Event()
        self.url = ""
        self._moto = moto
        self._session = session

    async def pass_on(self, request: web.Request) -> web.Response:
        """Answer as moto does, if at all."""
        if request.headers.get(_CALL) == _DELETE:
            self.held.set()
            await asyncio.Event().wait()
        async with self._session.request(
            request.method,
            self._moto.url + request.path_qs,
            headers=request.headers,
            data=await request.read(),
        ) as answer:
            kept = {
                name: value
                for name, value in answer.headers.items()
                if name.lower() in ("content-type", "x-amzn-requestid", "x-amz-crc32")
            }
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)


@asynccontextmanager
async def without_deletes(moto: Moto) -> AsyncIterator[Proxy]:
    """Run the proxy in the block."""
    async with ClientSession(auto_decompress=False) as session:
        proxy = Proxy(moto, session)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", proxy.pass_on)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            proxy.url = f"http://{host}:{port}"
            yield proxy
        finally:
            await runner.cleanup()
