"""Reads the API server's answers up to a limit, and makes aiohttp's errors ours."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp

from watcher.errors import KubeMalformed, KubeUnavailable
from watcher.kube.answers import refusal

BODY_LIMIT_BYTES = 16 * 1024 * 1024
"""Largest body that is read: 256 pods, the most of any cloud on a node, of 64 KiB each."""

LINE_LIMIT_BYTES = 4 * 1024 * 1024
"""Longest line of a watch: etcd takes objects of up to 1.5 MiB."""

REFUSAL_LIMIT_BYTES = 64 * 1024


@contextmanager
def as_ours(what: str) -> Iterator[None]:
    """Say what of the connection has failed as KubeUnavailable: nothing is known of the request."""
    try:
        yield
    except TimeoutError as error:
        raise KubeUnavailable(f"{what}: no answer in time") from error
    except (aiohttp.ClientError, OSError) as error:
        raise KubeUnavailable(f"{what}: {type(error).__name__}: {error}"[:256]) from error


async def require_success(response: aiohttp.ClientResponse, what: str) -> None:
    """Return if the request has succeeded.

    Raises:
        KubeError: It was refused.
    """
    if not 200 <= response.status < 300:
        body = await whole(response, what, REFUSAL_LIMIT_BYTES)
        raise refusal(response.status, body, response.headers, what)


async def whole(response: aiohttp.ClientResponse, what: str, limit_bytes: int) -> bytes:
    """Return the whole body.

    Raises:
        KubeMalformed: It is longer than the limit.
    """
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit_bytes:
            response.close()  # the rest is not worth reading, so the connection is no more use
            raise KubeMalformed(f"{what}: the body is larger than {limit_bytes} bytes")
    return bytes(body)


async def lines(
    response: aiohttp.ClientResponse, what: str, silence_s: float
) -> AsyncIterator[bytes]:
    """Yield each line until the stream ends in order; a whole one within every ``silence_s``.

    Raises:
        TimeoutError: None has come.
        KubeUnavailable: It has broken off within a line.
        KubeMalformed: A line is longer than the limit.
    """
    while True:
        try:
            async with asyncio.timeout(silence_s):
                line = await response.content.readuntil(b"\n")
        except ValueError as error:
            response.close()
            raise KubeMalformed(f"{what}: a line of more than {LINE_LIMIT_BYTES} bytes") from error
        if not line:
            return
        if not line.endswith(b"\n"):
            raise KubeUnavailable(f"{what}: broken off within a line")
        yield line
