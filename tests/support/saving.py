"""Saves as the trainer leaves them on disk, made without torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from trainer_hooks.checkpoint.bucket import Bucket
from trainer_hooks.checkpoint.commit import commit, reserve, start_attempt
from trainer_hooks.checkpoint.layout import Attempt, SaveName
from trainer_hooks.checkpoint.manifest import FileEntry, digest_of, write_manifest
from trainer_hooks.checkpoint.place import ObjectPlace, Place

FILES: list[dict[str, bytes]] = [
    {"__0_0.distcp": b"shard of rank 0", ".metadata": b"index", "state/rank_00000.json": b"{}"},
    {"__1_0.distcp": b"", "state/rank_00001.json": b"{ }"},
]
"""By rank. A shard of zero bytes is a rank that had nothing to write."""


P = TypeVar("P", Path, ObjectPlace)


def directory_as_bucket(path: Path) -> ObjectPlace:
    """Return a directory seen as a bucket, for tests that need no server."""
    return ObjectPlace(Bucket(f"file://{path}"))


def write_save(root: Place, step: int, attempt: Attempt) -> SaveName:
    """Write a save that only lacks its marker."""
    name = SaveName(step, attempt)
    directory = reserve(root, name)
    for rank, files in enumerate(FILES):
        write_part(directory, rank, files)
    return name


def write_part(directory: Place, rank: int, files: Mapping[str, bytes]) -> None:
    """Write one rank's files and its manifest."""
    for name, data in files.items():
        place = directory / name
        if isinstance(place, ObjectPlace):
            place.bucket.put(place.key, data)
        else:
            place.write_bytes(data)
    entries = [FileEntry(name, len(data), digest_of(data)) for name, data in files.items()]
    write_manifest(directory, rank, entries)


def commit_save(root: P, step: int, attempt: Attempt | None = None) -> P:
    """Write and commit a save; return its directory."""
    name = write_save(root, step, attempt or start_attempt(root))
    commit(root, name, world_size=len(FILES), save_every_steps=10, took_s=1.5)
    return root / str(name)


def on_disk(place: Place) -> Path:
    """Return a place on a file system, where a test can do what it likes with it."""
    assert isinstance(place, Path)
    return place
