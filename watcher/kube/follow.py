"""Follows objects: a list, then every change, and a list again where something was forgotten."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from watcher.errors import KubeGone, KubeMalformed, KubeUnavailable
from watcher.kube.answers import JsonObject, parsed, stated
from watcher.kube.client import KubeClient
from watcher.kube.objects import items_of

SILENCE_LIMIT_S = 130.0
"""Longest that a watch may say nothing, in seconds: a bookmark comes about once a minute. Source:
Kubernetes, apiserver/pkg/storage/cacher, bookmarkFrequency (read 2026-11-30)."""

WATCH_S = 300
"""How long a watch is asked to last, in seconds: the API server ends it in order then."""

LEAST_WATCH_S = 1.0
"""A watch that ends sooner, in seconds, is none: something between us and the server ends it."""

_CHANGES = ("ADDED", "MODIFIED", "DELETED")


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything that is there; what is not in it is gone."""

    objects: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """One object that has come, changed or gone."""

    object: JsonObject
    is_gone: bool


@dataclass(frozen=True, slots=True)
class Still:
    """Nothing new: the watch is open, and says so."""


class Follower:
    """Follows the objects of one path that a field selector chooses.

    Args:
        client: Where.
        path: A collection, such as /api/v1/nodes.
        selector: Which of it.
    """

    def __init__(self, client: KubeClient, path: str, selector: str) -> None:
        self._client = client
        self._path = path
        self._selector = selector
        self._version: str | None = None
        self._is_fresh = False

    def forget(self) -> None:
        """Begin with a list next time: what came could not be made use of."""
        self._version = None

    async def news(self) -> AsyncIterator[Listed | Changed | Still]:
        """Yield a list first, then each change; never ends by itself.

        After an error the next call goes on where this one was, without a list unless the API
        server has forgotten what came since. It does not wait before: whoever calls paces it.

        Raises:
            KubeError: It is unknown what is there; KubeGone where even a fresh list's version is
                said to be forgotten.
        """
        while True:
            if self._version is None:
                listed = await self._client.get(self._path, fieldSelector=self._selector)
                objects, version = items_of(listed)
                yield Listed(objects)
                self._version, self._is_fresh = version, True
            began = asyncio.get_running_loop().time()
            try:
                async for one in self._watch(self._version):
                    yield one
            except KubeGone:
                self.forget()
                if self._is_fresh:
                    raise
            except KubeMalformed:
                self.forget()
                raise
            else:
                if asyncio.get_running_loop().time() < began + LEAST_WATCH_S:
                    raise KubeUnavailable(f"watch {self._path}: ended as soon as it had begun")

    async def _watch(self, version: str) -> AsyncIterator[Changed | Still]:
        query = {
            "watch": "1",
            "fieldSelector": self._selector,
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_S),
        }
        async with self._client.lines(self._path, SILENCE_LIMIT_S, **query) as lines:
            yield Still()
            async for line in lines:
                yield self._read(line)

    def _read(self, line: bytes) -> Changed | Still:
        what = f"watch {self._path}"
        said = parsed(line, what)
        kind, obj = said.get("type"), said.get("object")
        if not isinstance(obj, dict):
            raise KubeMalformed(f"{what}: a line without an object: {line[:64]!r}")
        if kind == "ERROR":
            raise stated(obj, what)
        meta = obj.get("metadata")
        version = meta.get("resourceVersion") if isinstance(meta, dict) else None
        if not isinstance(version, str) or kind not in (*_CHANGES, "BOOKMARK"):
            raise KubeMalformed(f"{what}: {kind!s:.32} without a version: {line[:64]!r}")
        self._version, self._is_fresh = version, False
        return Still() if kind == "BOOKMARK" else Changed(obj, kind == "DELETED")
