"""The objects, each with a resourceVersion, and what has happened to them so far."""

import asyncio
import uuid
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.fakes.kube.kinds import NODE, Kind, Obj
from tests.fakes.kube.refusals import already_exists, conflict, expired, not_found

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that has happened to an object."""

    version: int
    type: str
    """``ADDED``, ``MODIFIED`` or ``DELETED``."""
    kind: Kind
    object: Obj
    before: Obj | None


class Store:
    """Holds every object; what it gives out are copies.

    Args:
        now: The wall clock, for creation times.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.version = 1
        self.oldest = 1
        """The oldest version from which a watch can still be told all that came after."""
        self.news = asyncio.Event()
        """Is set, and replaced, by every change."""
        self._objects: dict[Key, Obj] = {}
        self._changes: list[Change] = []

    def get(self, kind: Kind, namespace: str, name: str) -> Obj:
        """Return an object; refuses where there is none."""
        found = self._objects.get((kind.qualified, namespace, name))
        if found is None:
            raise not_found(kind, name)
        return deepcopy(found)

    def every(self, kind: Kind, namespace: str = "") -> list[Obj]:
        """Return every object of the kind, of one namespace or of all, by name."""
        return [
            deepcopy(found)
            for (plural, place, _), found in sorted(self._objects.items())
            if plural == kind.qualified and namespace in ("", place)
        ]

    def create(self, kind: Kind, obj: Obj) -> Obj:
        """Add an object, with what the server fills in."""
        made = deepcopy(obj) | {"kind": kind.kind, "apiVersion": kind.api_version}
        meta = made.setdefault("metadata", {})
        if "name" not in meta:
            meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
        key = _key(kind, made)
        if key in self._objects:
            raise already_exists(kind, key[2])
        meta.setdefault("uid", str(uuid.uuid4()))
        meta.setdefault("creationTimestamp", stamp(self.now()))
        if "spec" in made and kind != NODE:  # which has none
            meta.setdefault("generation", 1)
        _leave_out_the_empty(made)
        return self._put(kind, key, made, "ADDED")

    def replace(self, kind: Kind, obj: Obj) -> Obj:
        """Store a new version of an object; refuses if it was made from an old one.

        As in etcd, one that changes nothing makes no new version.
        """
        key = _key(kind, obj)
        before = self._objects.get(key)
        if before is None:
            raise not_found(kind, key[2])
        made = deepcopy(obj)
        said = made["metadata"].setdefault("resourceVersion", _version(before))
        if said != _version(before):
            raise conflict(kind, key[2])
        _leave_out_the_empty(made)
        if made == before:
            return made
        if made.get("spec") != before.get("spec") and "generation" in before["metadata"]:
            made["metadata"]["generation"] = before["metadata"]["generation"] + 1
        return self._put(kind, key, made, "MODIFIED")

    def remove(self, kind: Kind, namespace: str, name: str) -> Obj:
        """Take an object away."""
        key = (kind.qualified, namespace, name)
        gone = self.get(kind, namespace, name)
        del self._objects[key]
        return self._record(kind, gone, "DELETED", gone)

    def since(self, version: int) -> list[Change]:
        """Return what has happened after a version; refuses where that is forgotten."""
        if version < self.oldest:
            raise expired(version, self.oldest)
        return [change for change in self._changes if change.version > version]

    def forget(self) -> None:
        """Forget all that has happened, as etcd does when it compacts."""
        self.version += 1
        self.oldest = self.version
        self._changes.clear()
        self.nudge()

    def _put(self, kind: Kind, key: Key, made: Obj, change: str) -> Obj:
        before = self._objects.get(key)
        self._objects[key] = made
        return self._record(kind, made, change, before)

    def _record(self, kind: Kind, obj: Obj, change: str, before: Obj | None) -> Obj:
        self.version += 1
        # A deleted object's last version is that of its deletion, so that a watch can go on there.
        obj["metadata"]["resourceVersion"] = str(self.version)
        self._changes.append(Change(self.version, change, kind, deepcopy(obj), deepcopy(before)))
        self.nudge()
        return deepcopy(obj)

    def nudge(self) -> None:
        """Let every watch look again."""
        news, self.news = self.news, asyncio.Event()
        news.set()


def stamp(wall: datetime) -> str:
    """Return an instant as objects carry it: whole seconds."""
    return wall.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _leave_out_the_empty(obj: Obj) -> None:
    """Have no maps and lists in the metadata with nothing in them: on the wire there are none."""
    meta = obj["metadata"]
    for name in ("labels", "annotations", "ownerReferences", "finalizers"):
        if not meta.get(name, True):
            del meta[name]
    spec = obj.get("spec")
    if isinstance(spec, dict) and not spec.get("taints", True):
        del spec["taints"]


def _key(kind: Kind, obj: Obj) -> Key:
    meta = obj["metadata"]
    return kind.qualified, meta.get("namespace", "") if kind.is_namespaced else "", meta["name"]


def _version(obj: Obj) -> str:
    return str(obj["metadata"]["resourceVersion"])
