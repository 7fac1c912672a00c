"""The metadata as a tree of values, each with an ETag, and whoever waits for one to change."""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus

from watcher.simulator.answers import children


def _new_etag() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value: how it is answered, and under which ETag. An equal value later has another one.

    A verbatim one is answered like this in every form, JSON or not.
    """

    text: str
    status: HTTPStatus = HTTPStatus.OK
    is_verbatim: bool = False
    etag: str = field(default_factory=_new_etag)


class Tree:
    """Values by path, such as ``instance/preempted``; directories are what paths have in common."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._leaves = {path: Leaf(text) for path, text in values.items()}
        self._changed = asyncio.Event()

    def leaf(self, path: str) -> Leaf | None:
        """Return what is at ``path``, if it is a value."""
        return self._leaves.get(path)

    def put(self, path: str, leaf: Leaf) -> None:
        """Let ``path`` be this from now on, and tell whoever waits."""
        self._leaves[path] = leaf
        self._tell()

    def remove(self, path: str) -> None:
        """Let there be nothing at ``path``, and tell whoever waits."""
        if self._leaves.pop(path, None):
            self._tell()

    def renew_etags(self) -> None:
        """Give every value another ETag."""
        for path, leaf in self._leaves.items():
            self._leaves[path] = Leaf(leaf.text, leaf.status, leaf.is_verbatim)
        self._tell()

    def is_directory(self, path: str) -> bool:
        """Tell whether ``path``, which ends in a slash, has anything in it."""
        return any(True for _ in self._below(path))

    def listing(self, directory: str) -> str:
        """List a directory's children, one a line, directories with a slash."""
        return "".join(f"{child}\n" for child in children(self._leaves, directory))

    def document(self, directory: str) -> dict[str, object]:
        """Return a directory with all that is below it, names in camelCase."""
        document: dict[str, object] = {}
        for path in self._below(directory):
            *parents, name = path.removeprefix(directory).split("/")
            place = document
            for parent in parents:
                inner = place.setdefault(camel_case(parent), {})
                place = inner if isinstance(inner, dict) else {}
            leaf = self._leaves[path]
            place[camel_case(name)] = json_value(leaf)
        return document

    def etag(self, path: str) -> str | None:
        """Return the ETag of a value, or of all in a directory together; None if it is neither."""
        if path in self._leaves:
            return self._leaves[path].etag
        if not path.endswith("/"):
            return None
        tags = "".join(self._leaves[below].etag for below in self._below(path))
        return hashlib.sha256(tags.encode()).hexdigest()[:16] if tags else None

    async def changed_from(self, path: str, etag: str | None, timeout_s: float | None) -> None:
        """Return when ``path`` has another ETag than this, or after ``timeout_s`` if it is set."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.etag(path) == etag:
                    await self._changed.wait()

    def _below(self, directory: str) -> Iterator[str]:
        return (path for path in self._leaves if path.startswith(directory))

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def camel_case(name: str) -> str:
    """Return a name as it is in JSON: `maintenance-event` is `maintenanceEvent` there."""
    first, *others = name.split("-")
    return first + "".join(other.capitalize() for other in others)


def json_value(leaf: Leaf) -> object:
    """Return a value as it is in JSON: a number if it is one, else a text."""
    if leaf.is_verbatim:
        with suppress(ValueError):
            value: object = json.loads(leaf.text)
            return value
    return int(leaf.text) if leaf.text.isdecimal() else leaf.text
