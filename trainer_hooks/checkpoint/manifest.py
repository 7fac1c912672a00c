"""Manifests: what each rank says it has written, file by file.

A rank writes its manifest last, once its files are durable; the coordinator commits when it has
seen all of them, so that no rank needs another's collective.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Self

import xxhash

from trainer_hooks.checkpoint.durable import write_file
from trainer_hooks.checkpoint.layout import is_plain_name, manifest_file
from trainer_hooks.checkpoint.place import ObjectPlace, Place, read_json
from trainer_hooks.errors import CheckpointError, UntrustedFileError
from trainer_hooks.untrusted import Json

MAX_MANIFEST_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, order=True)
class FileEntry:
    """One file of a save."""

    name: str
    """Relative to the save's directory."""
    size: int
    """Bytes. A shard of 0 bytes is legal: a rank that had nothing to write (trainer-facts 8.15)."""
    digest: str
    """XXH3-128 of the bytes, in hexadecimal, taken as they were written."""

    def to_json(self) -> dict[str, Json]:
        """Return the entry as it stands in manifests and markers."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> Self:
        """Read an entry that somebody else wrote.

        Raises:
            ValueError: It is not one, or its name leads out of the directory.
        """
        match data:
            case {"name": str(name), "size": int(size), "digest": str(digest)}:
                if is_plain_name(name) and size >= 0:
                    return cls(name, size, digest)
        raise ValueError(f"no file entry: {data!r:.120}")


def canonical(body: dict[str, Json]) -> bytes:
    """Return the one spelling of a JSON object that digests are taken of."""
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def sealed(body: dict[str, Json]) -> bytes:
    """Return a JSON object's bytes, with a digest of itself in it."""
    return json.dumps(body | {"digest": digest_of(canonical(body))}, indent=1).encode()


def unsealed(data: dict[str, Json]) -> dict[str, Json] | None:
    """Undo ``sealed``; None if the digest differs, or there is none."""
    body = {key: value for key, value in data.items() if key != "digest"}
    return body if data.get("digest") == digest_of(canonical(body)) else None


def digest_of(data: bytes) -> str:
    """Return the XXH3-128 of ``data`` in hexadecimal."""
    return xxhash.xxh3_128_hexdigest(data)


def digest_of_file(path: Place, on_chunk: Callable[[memoryview], object] = bool) -> str:
    """Read a file and return its XXH3-128 in hexadecimal; show ``on_chunk`` each piece.

    A piece of a file is there until ``on_chunk`` returns: the next one takes its room.
    """
    digest = xxhash.xxh3_128()
    for chunk in _chunks(path):
        digest.update(chunk)
        on_chunk(chunk)
    return digest.hexdigest()


def _chunks(path: Place) -> Iterator[memoryview]:
    if isinstance(path, ObjectPlace):
        yield from path.bucket.chunks(path.key)
        return
    room = memoryview(bytearray(_CHUNK_BYTES))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(room):
            yield room[:count]


def write_manifest(directory: Place, rank: int, files: Iterable[FileEntry]) -> None:
    """Write one rank's manifest, durably, with a digest of itself. The rank itself calls it."""
    write_file(directory / manifest_file(rank), _encoded(rank, files))


def _encoded(rank: int, files: Iterable[FileEntry]) -> bytes:
    entries: list[Json] = [entry.to_json() for entry in sorted(files)]
    return sealed({"schema": 1, "rank": rank, "files": entries})


def read_manifests(directory: Place, world_size: int) -> list[FileEntry]:
    """Return the files of all ranks, by name, their manifests too. The coordinator calls it.

    Raises:
        CheckpointError: A manifest is missing or unreadable, or two ranks claim one file.
    """
    files: dict[str, FileEntry] = {}
    for rank in range(world_size):
        for entry in _read_manifest(directory, rank):
            if entry.name in files:
                raise CheckpointError(f"two ranks have written {entry.name} in {directory}")
            files[entry.name] = entry
    return sorted(files.values())


def _read_manifest(directory: Place, rank: int) -> list[FileEntry]:
    path = directory / manifest_file(rank)
    try:
        body = unsealed(read_json(path, max_bytes=MAX_MANIFEST_BYTES))
        if body is None:
            raise CheckpointError(f"the manifest {path} is damaged, its digest differs")
        match body:
            case {"schema": 1, "rank": int(of_rank), "files": list(entries)} if of_rank == rank:
                files = [FileEntry.from_json(entry) for entry in entries]
                whole = _encoded(rank, files)
                return [*files, FileEntry(manifest_file(rank), len(whole), digest_of(whole))]
    except (OSError, UntrustedFileError, ValueError) as error:
        raise CheckpointError(f"the manifest {path} cannot be used: {error}") from error
    raise CheckpointError(f"{path} is not the manifest of rank {rank}")
