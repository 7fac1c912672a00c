"""Where things are in a checkpoint directory, and how they are named.

::

    root/
      step_000000300.a17-5f3c/     one save, by the 17th attempt to run this job
        __0_0.distcp ...           shards, written by DCP; in a bucket in parts, __0_0.distcp.00000
        .metadata                  DCP's index of the shards
        state/rank_00003.json      what is not a tensor, and this rank's RNG
        manifest/rank_00003.json   what this rank has written: name, size, digest
        COMMIT                     the marker: only now is it a checkpoint
      LATEST                       name of the newest, a hint for people
      .attempts/17                 the newest attempt; an older one may not commit any more
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from trainer_hooks.checkpoint.place import Place

MARKER = "COMMIT"
LATEST = "LATEST"
ATTEMPTS = ".attempts"

_NAME = re.compile(r"step_(\d{9,18})\.a(\d{1,18})-([0-9a-f]{4,16})", re.ASCII)
_SHARD = re.compile(r".+\.distcp(\.\d{5,9})?", re.ASCII)
_OF_WRITER = re.compile(r"__(\d{1,9})_\d+\.distcp(\.\d{5,9})?", re.ASCII)
_PLAIN_FILE = re.compile(r"(state/|manifest/)?(?!\.\.?\Z)[\w.-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Attempt:
    """One start of the job; a later one has a higher number."""

    number: int
    token: str
    """Drawn at random, so that two attempts never share a directory."""
    before: str | None = field(default=None, compare=False)
    """The start before it, as a text; None where nobody knows it, as of a name that was read."""

    def __str__(self) -> str:
        return f"a{self.number}-{self.token}"


@dataclass(frozen=True, slots=True, order=True)
class SaveName:
    """The name of a save's directory. Ordered by step, then attempt, as numbers."""

    step: int
    attempt: Attempt

    def __str__(self) -> str:
        return f"step_{self.step:09d}.{self.attempt}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Read a directory's name; None for a name that is not ours."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        return cls(int(match[1]), Attempt(int(match[2]), match[3]))


def state_file(rank: int) -> str:
    """Return the name of a rank's state file, relative to the save's directory."""
    return f"state/rank_{rank:05d}.json"


def manifest_file(rank: int) -> str:
    """Return the name of a rank's manifest, relative to the save's directory."""
    return f"manifest/rank_{rank:05d}.json"


def is_shard(name: str) -> bool:
    """Tell whether a file of a save is one of DCP's, which hold the tensors, or a part of one."""
    return _SHARD.fullmatch(name) is not None


def writer_of(name: str) -> int | None:
    """Return the rank that has written a shard, by its name; None for another file."""
    match = _OF_WRITER.fullmatch(name)
    return None if match is None else int(match[1])


def is_plain_name(name: str) -> bool:
    """Tell whether a file name read from a marker stays inside its directory."""
    return _PLAIN_FILE.fullmatch(name) is not None


def saves(root: Place) -> list[SaveName]:
    """Return the names of all saves under ``root``, newest first; other entries don't count."""
    if not root.is_dir():
        return []
    found = ((SaveName.parse(entry.name), entry) for entry in root.iterdir())
    # Some stores go on listing a name when no object lies under it any more.
    there = (n for n, entry in found if n and (isinstance(entry, Path) or entry.is_dir()))
    return sorted(there, reverse=True)
