"""Follows objects: a list, then every change, and a list again where something was forgotten."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
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

PAGE = 250
"""Objects that are listed at once: Nodes have up to 30 KiB each, and an answer at most 16 MiB."""

_CHANGES = ("ADDED", "MODIFIED", "DELETED")


@dataclass(frozen=True, slots=True)
class Listed:
    """What is there, in one part or several; what is in none of them is gone."""

    objects: tuple[JsonObject, ...]
    is_first: bool = True
    is_last: bool = True


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

    async def news(self) -> AsyncGenerator[Listed | Changed | Still, None]:
        """Yield a list first, then each change; never ends by itself.

        After an error the next call goes on where this one was, without a list unless the API
        server has forgotten what came since. It does not wait before: whoever calls paces it.

        Raises:
            KubeError: It is unknown what is there; KubeGone where even a fresh list's version is
                said to be forgotten.
        """
        while True:
            if self._version is None:
                async for part in self._list():
                    yield part
            began = asyncio.get_running_loop().time()
            try:
                async with aclosing(self._watch(self._version or "")) as changes:
                    async for one in changes:
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

    async def _list(self) -> AsyncGenerator[Listed, None]:
        """Yield every part; a watch goes on from the version of the first."""
        token, version, is_first = "", "", True
        while token or is_first:
            query = {"fieldSelector": self._selector, "limit": str(PAGE)}
            query |= {"continue": token} if token else {}
            listed = await self._client.get(self._path, **query)
            objects, now = items_of(listed)
            token = str(listed["metadata"].get("continue") or "")
            if not token.isprintable():
                raise KubeMalformed(f"list {self._path}: goes on at {token[:64]!r}")
            version = now if is_first else version
            yield Listed(objects, is_first, is_last=not token)
            is_first = False
        self._version, self._is_fresh = version, True

    async def _watch(self, version: str) -> AsyncGenerator[Changed | Still, None]:
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
        is_known = kind in (*_CHANGES, "BOOKMARK")
        if not isinstance(version, str) or not version.isprintable() or not is_known:
            raise KubeMalformed(f"{what}: {kind!s:.32} without a version: {line[:64]!r}")
        self._version, self._is_fresh = version, False
        return Still() if kind == "BOOKMARK" else Changed(obj, kind == "DELETED")
