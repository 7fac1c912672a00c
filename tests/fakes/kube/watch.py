"""Watches: a line of JSON for each change, bookmarks, and the ways in which a watch ends."""

import asyncio
import json
from collections.abc import Mapping
from enum import StrEnum

from aiohttp import web

from tests.fakes.kube.kinds import Kind, Obj
from tests.fakes.kube.refusals import Refusal, expired
from tests.fakes.kube.selectors import fields_match, labels_match
from tests.fakes.kube.store import Change, Store

INITIAL_END = "k8s.io/initial-events-end"


class Order(StrEnum):
    """What a test can have a watch do."""

    BOOKMARK = "bookmark"
    """Say how far it is, if it was asked for bookmarks."""
    EXPIRE = "expire"
    """Say that its version is too old, and end."""
    HALF = "half"
    """Send half a line, and lose the connection."""
    END = "end"
    """End in order, as a watch does after some minutes."""


class Selection:
    """Which objects a list or watch is about."""

    def __init__(self, kind: Kind, namespace: str, query: Mapping[str, str]) -> None:
        self.kind = kind
        self.namespace = namespace
        self._labels = query.get("labelSelector", "")
        self._fields = query.get("fieldSelector", "")
        fields_match(self._fields, kind, {"metadata": {}})  # refuses what can't be selected by

    def has(self, obj: Obj | None) -> bool:
        """Tell whether an object is one of them."""
        return (
            obj is not None
            and self.namespace in ("", obj["metadata"].get("namespace", ""))
            and labels_match(self._labels, obj)
            and fields_match(self._fields, self.kind, obj)
        )


class Watch:
    """One watch, for as long as its connection lasts."""

    def __init__(self, store: Store, selection: Selection, query: Mapping[str, str]) -> None:
        self._store = store
        self._selection = selection
        self._takes_bookmarks = query.get("allowWatchBookmarks", "") in ("1", "true")
        self._wants_initial_end = query.get("sendInitialEvents", "") == "true"
        self._version = int(query.get("resourceVersion") or 0)
        self._limit_s = float(query.get("timeoutSeconds") or 1800)
        self._orders: list[Order] = []
        self._is_over = False

    def order(self, order: Order) -> None:
        """Have it do something; the store's news wake it."""
        self._orders.append(order)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Send lines until the time is over, the test says so, or the client has gone."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        if self._version == 0:
            await self._send_what_is(response)
        try:
            async with asyncio.timeout(self._limit_s):
                while not self._is_over:
                    news = self._store.news
                    await self._send_changes(response)
                    await self._follow_orders(request, response)
                    if not self._is_over:
                        await news.wait()
        except TimeoutError:
            await self._bookmark(response)
        return response

    async def _send_what_is(self, response: web.StreamResponse) -> None:
        self._version = self._store.version
        for obj in self._store.every(self._selection.kind):
            if self._selection.has(obj):
                await _send(response, "ADDED", obj)
        if self._wants_initial_end:
            await self._bookmark(response, {INITIAL_END: "true"})

    async def _send_changes(self, response: web.StreamResponse) -> None:
        try:
            changes = self._store.since(self._version)
        except Refusal as refusal:
            await _send(response, "ERROR", refusal.body)
            self._is_over = True
            return
        for change in changes:
            self._version = change.version
            seen = self._seen(change)
            if seen:
                await _send(response, seen, change.object)

    def _seen(self, change: Change) -> str:
        """Return what the change is to those who see only the selection; empty for nothing."""
        if change.kind != self._selection.kind:
            return ""
        was = self._selection.has(change.before)
        is_still = change.type != "DELETED" and self._selection.has(change.object)
        if is_still:
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else ""

    async def _follow_orders(self, request: web.Request, response: web.StreamResponse) -> None:
        for order in self._orders:
            if order is Order.BOOKMARK:
                await self._bookmark(response)
                continue
            self._is_over = True
            if order is Order.EXPIRE:
                body = expired(self._version, self._store.version).body
                await _send(response, "ERROR", body)
            elif order is Order.HALF:
                await response.write(b'{"type":"MODIFIED","object":{"kind":"')
                assert request.transport is not None
                request.transport.close()
        self._orders.clear()

    async def _bookmark(
        self, response: web.StreamResponse, annotations: Mapping[str, str] | None = None
    ) -> None:
        if not self._takes_bookmarks:
            return
        kind = self._selection.kind
        meta: Obj = {"resourceVersion": str(self._store.version), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = dict(annotations)
        obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        await _send(response, "BOOKMARK", obj)


async def _send(response: web.StreamResponse, change: str, obj: Obj) -> None:
    line = json.dumps({"type": change, "object": obj}, separators=(",", ":")) + "\n"
    await response.write(line.encode())
