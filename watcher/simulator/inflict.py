"""How a fault happens to a request: as real as a socket can be."""

import asyncio
import socket
import struct
from http import HTTPStatus
from typing import NoReturn

from aiohttp import web
from aiohttp.typedefs import Handler

from watcher.simulator.answers import error_page, no_answer
from watcher.simulator.distort import distort
from watcher.simulator.faults import Fault, FaultKind

NOT_THE_CLOUDS = b"\x93\x00\xfe{]\r\n\xff"
"""Bytes that are neither UTF-8 nor JSON nor HTML."""

SIGN_IN_PAGE = "<html><body>Sign in to use this network.</body></html>"
"""What a captive portal or a proxy puts in the place of the answer."""

_OF_THE_BODY = ("Content-Length", "Content-Type")

_NOT_LET_IN = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


async def inflict(fault: Fault, request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let ``fault`` happen to ``request``, whose true answer ``handler`` gives.

    Returns only if there is something to answer. Otherwise it waits to be cancelled, which the
    server does when the connection is gone.
    """
    await asyncio.sleep(fault.delay_s)
    match fault.kind:
        case FaultKind.HANG:
            return await no_answer()
        case FaultKind.RESET:
            return await _reset(request)
        case FaultKind.HALF_BODY:
            return await _half_body(request, await handler(request))
        case FaultKind.STATUS | FaultKind.GARBAGE | FaultKind.HTML | FaultKind.REDIRECT:
            return _wrong_answer(fault, request)
        case _:
            return _altered(fault, await handler(request))


def _wrong_answer(fault: Fault, request: web.Request) -> web.Response:
    match fault.kind:
        case FaultKind.GARBAGE:
            return web.Response(body=NOT_THE_CLOUDS, content_type="text/plain")
        case FaultKind.HTML:
            return web.Response(text=SIGN_IN_PAGE, content_type="text/html")
        case FaultKind.REDIRECT:
            # The name is not the one asked for, yet leads back here: a client that follows it
            # meets a 404, takes it for "no notice", and the request log shows what it did.
            _, port, *_ = request.get_extra_info("sockname")
            headers = {"Location": f"http://localhost:{port}/portal"}
            return web.Response(status=HTTPStatus.FOUND, headers=headers)
        case _:
            return error_page(HTTPStatus(fault.status))


def _altered(fault: Fault, answer: web.StreamResponse) -> web.StreamResponse:
    if fault.kind is FaultKind.ANSWER:
        # The item says what the script says, and only to those whom the cloud lets in.
        return answer if answer.status in _NOT_LET_IN else _scripted(fault, answer)
    if answer.status == HTTPStatus.OK and isinstance(answer, web.Response):
        answer.body = distort(fault.kind, _body_of(answer))
    return answer


def _scripted(fault: Fault, answer: web.StreamResponse) -> web.Response:
    """Answer as the fault says, under the head that the service puts over every answer."""
    scripted = web.Response(status=fault.status, body=fault.body, content_type="text/plain")
    kept = {name: text for name, text in answer.headers.items() if name not in _OF_THE_BODY}
    scripted.headers.update(kept | dict(fault.headers))
    return scripted


def _body_of(answer: web.StreamResponse) -> bytes:
    body = answer.body if isinstance(answer, web.Response) else None
    return body if isinstance(body, bytes) else b""


async def _reset(request: web.Request) -> NoReturn:
    if request.transport is not None:
        # Lingering for 0 s turns the close into an RST: the client sees a reset, not an end.
        linger = struct.pack("ii", 1, 0)
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        request.transport.abort()
    await no_answer()


async def _half_body(request: web.Request, answer: web.StreamResponse) -> NoReturn:
    whole = _body_of(answer)
    half = web.StreamResponse(status=answer.status, headers=answer.headers)
    half.content_length = len(whole)
    await half.prepare(request)
    await half.write(whole[: len(whole) // 2])
    if request.transport is not None:
        request.transport.close()
    await no_answer()
