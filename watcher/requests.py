"""What trainers on this node ask for, in ``requests/<id>.json`` of the run directory.

Everybody on the node can write there, and what is asked for takes the node out of service. So a
file counts only if it belongs to a user that was named, and is regular, small, fresh, there once,
and of this boot. All else is refused, and nothing comes of it.
"""

import json
import math
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from watcher.foreign_file import read_foreign

DIRECTORY = "requests"
SCHEMA = 1

FILE_LIMIT = 64
"""Most files that are looked at. Nobody removes those that are not ours: a directory that is full
of them lets no request through, and the log says so."""

FRESH_S = 600.0
"""Oldest request, in seconds: a daemon that comes back after a day finds no old ones to heed."""

_AHEAD_S = 5.0
_SIZE_LIMIT_BYTES = 4096
_TEXT_LIMIT_CHARS = 500
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.json")
_REASON = re.compile(r"[a-z_]{1,32}")
_DAMAGE = (ValueError, TypeError, KeyError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequest:
    """A trainer asks for another node in place of this one."""

    id: str
    uid: int
    """Whose file it is."""
    reason: str
    """The guard that has found something, such as ``straggler``."""
    text: str
    """The same for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequests:
    """All that is asked for at one look."""

    found: tuple[NodeRequest, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """By name of a file why nothing comes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a request is held against."""

    boot_id: str
    """This boot's."""
    uids: Collection[int]
    """Who may ask."""
    now_s: float
    """Now, on CLOCK_BOOTTIME."""


def read_requests(run_dir: Path, terms: Terms) -> NodeRequests:
    """Return what is asked for; blocks. Without the directory nothing is.

    Raises:
        OSError: It can't be told.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        directory = os.open(run_dir / DIRECTORY, flags)
    except FileNotFoundError:
        return NodeRequests()
    found: list[NodeRequest] = []
    refused: dict[str, str] = {}
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in islice(entries, FILE_LIMIT + 1)]
        for name in names[:FILE_LIMIT]:
            if not _NAME.fullmatch(name):
                continue  # a draft, on its way to its name
            try:
                found.append(_request(directory, name, terms))
            except FileNotFoundError:
                continue  # gone since
            except OSError as error:
                refused[name] = error.strerror or type(error).__name__
            except _DAMAGE as error:
                refused[name] = f"{type(error).__name__}: {error}"[:128]
    finally:
        os.close(directory)
    if len(names) > FILE_LIMIT:
        refused[names[FILE_LIMIT]] = f"the first {FILE_LIMIT} files are looked at"
    return NodeRequests(found=tuple(found), refused=refused)


def _request(directory: int, name: str, terms: Terms) -> NodeRequest:
    """Return what a file asks for; raises OSError, or one of _DAMAGE."""
    text, uid = read_foreign(directory, name, _SIZE_LIMIT_BYTES)
    if uid not in terms.uids:
        raise ValueError(f"user {uid} may ask for nothing")
    said = json.loads(text)
    _check(said, terms)
    reason, why = said["reason"], said["text"]
    if not isinstance(reason, str) or not _REASON.fullmatch(reason):
        raise ValueError("reason is no short word")
    if not isinstance(why, str) or len(why) > _TEXT_LIMIT_CHARS or not why.isprintable():
        raise ValueError("text is no short text")
    return NodeRequest(id=name.removesuffix(".json"), uid=uid, reason=reason, text=why)


def _check(said: Mapping[str, object], terms: Terms) -> None:
    """Refuse what is of another version, boot or time; raises one of _DAMAGE."""
    if said["schema"] != SCHEMA or said["ask"] != "replace_node":
        raise ValueError(f"schema {said['schema']!r}, ask {said['ask']!r}"[:96])
    if said["boot_id"] != terms.boot_id:
        raise ValueError("of another boot, or of a machine within this one")
    made_s = said["made_boottime_s"]
    if isinstance(made_s, bool) or not isinstance(made_s, int | float):
        raise TypeError("made_boottime_s is no number")
    age_s = terms.now_s - float(made_s)
    if not math.isfinite(age_s) or not -_AHEAD_S <= age_s <= FRESH_S:
        raise ValueError(f"made more than {FRESH_S:g} s ago, or in the future")
