"""The routes of Azure's instance metadata service.

Source of paths, headers and status codes: Azure virtual machines, "Azure Instance Metadata Service"
and "Scheduled Events for Linux VMs" (read 2026-11-30).
"""

import asyncio
import json
from http import HTTPStatus

from aiohttp import web

from watcher.simulator.answers import compact_json
from watcher.simulator.azure.events import Events
from watcher.simulator.azure.machine import Machine

ROOT = "/metadata/"
EVENTS = ROOT + "scheduledevents"
COMPUTE = ROOT + "instance/compute"

EVENT_VERSIONS = (
    *("2020-07-01", "2019-08-01", "2019-04-01", "2019-01-01"),
    *("2017-11-01", "2017-08-01", "2017-03-01"),
)
"""Of Scheduled Events, the newest first."""

INSTANCE_VERSIONS = (
    *("2021-12-13", "2021-11-15", "2021-11-01", "2021-10-01", "2021-08-01", "2021-05-01"),
    *("2021-03-01", "2021-02-01", "2021-01-01", "2020-12-01", "2020-10-01", "2020-09-01"),
    *("2020-07-15", "2020-06-01", "2019-11-01", "2019-08-15", "2019-06-01"),
)
"""Of everything else, the newest first; older ones that exist are refused here."""


class AzureMetadata:
    """Answers for one machine, to those who show that they mean this service."""

    def __init__(self, machine: Machine, events: Events) -> None:
        self._machine = machine
        self._events = events

    def routes(self) -> list[web.RouteDef]:
        """List the routes; the last one takes every path that the others leave."""
        return [
            web.get(EVENTS, self.get_events),
            web.post(EVENTS, self.start_events),
            web.get(COMPUTE + "{path:(/.*)?}", self.get_compute),
            web.route("*", "/{path:.*}", self.refuse_unknown),
        ]

    async def get_events(self, request: web.Request) -> web.Response:
        """Answer with the document, the first time only when events are switched on."""
        refusal = _refusal(request, EVENT_VERSIONS)
        if refusal is not None:
            return refusal
        # Whoever leaves before that has not switched them on.
        await asyncio.sleep(self._machine.first_answer_left_s())
        self._machine.answered()
        return _json(self._events.document())

    async def start_events(self, request: web.Request) -> web.Response:
        """Start the events that are approved: 400 for a body that names none of ours."""
        refusal = _refusal(request, EVENT_VERSIONS)
        if refusal is not None:
            return refusal
        event_ids = _approved(await request.read())
        if not event_ids or not self._events.approve(event_ids):
            return _error(HTTPStatus.BAD_REQUEST, "Bad request. The StartRequests are malformed.")
        return web.Response()

    async def get_compute(self, request: web.Request) -> web.Response:
        """Answer with what is said of the machine, or with one item of it as text."""
        refusal = _refusal(request, INSTANCE_VERSIONS)
        if refusal is not None:
            return refusal
        compute, item = self._machine.compute(), request.match_info["path"].strip("/")
        if not item:
            return _json(compute)
        if item not in compute:
            return _error(HTTPStatus.NOT_FOUND, "Not found")
        if request.query.get("format") != "text":
            return _error(HTTPStatus.BAD_REQUEST, "Bad request. An item is text: format=text")
        return web.Response(text=compute[item], content_type="text/plain")

    async def refuse_unknown(self, request: web.Request) -> web.Response:
        """Answer 404, or 400 to who is not let in anyway."""
        refusal = _refusal(request, INSTANCE_VERSIONS)
        return refusal or _error(HTTPStatus.NOT_FOUND, "Not found")


def _refusal(request: web.Request, versions: tuple[str, ...]) -> web.Response | None:
    """Return what answers a request that is not let in: one without the header or a version."""
    if request.headers.get("Metadata", "").lower() != "true":
        return _error(HTTPStatus.BAD_REQUEST, "Bad request. Required metadata header not specified")
    if "X-Forwarded-For" in request.headers:
        return _error(HTTPStatus.BAD_REQUEST, "Bad request. The request came through a proxy")
    if request.query.get("api-version") in versions:
        return None
    what = "Bad request. api-version was not specified or is not supported."
    body = {"error": what, "newest-versions": list(versions[:3])}
    return _json(body, HTTPStatus.BAD_REQUEST)


def _approved(body: bytes) -> list[str]:
    """Return the ids in a request to start events; none where it is no such request."""
    try:
        asked = json.loads(body)["StartRequests"]
        return [str(one["EventId"]) for one in asked]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []


def _json(document: object, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(text=compact_json(document), status=status, content_type="application/json")


def _error(status: HTTPStatus, what: str) -> web.Response:
    return _json({"error": what}, status)
