"""What one run of one bench found, as it lies in a file."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class StoredError(ValueError):
    """A file of results can't be shown: it is none, or not whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One run of one bench."""

    bench: str
    ran_at: str
    """When it began, ISO 8601 in UTC."""
    commit: str
    """Of the code that was measured, with ``-dirty`` where that was changed since."""
    size: str
    wall_s: float
    machine: Mapping[str, Any]
    """What it ran on, and how busy that was when it began."""
    result: Mapping[str, Any] | None
    """The bench's last line; None where it has ended without one."""
    error: str | None
    """Why there is no result."""

    @property
    def verdict(self) -> str:
        """Return ``met``, ``missed`` or ``failed``."""
        if self.result is None:
            return "failed"
        return "missed" if self.result["missed"] else "met"

    def write(self, folder: Path) -> Path:
        """Write it into a folder, in place of an older one of the same bench."""
        path = folder / f"{self.bench}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        return path


FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "bench": str,
    "ran_at": str,
    "commit": str,
    "size": str,
    "wall_s": (int, float),
    "machine": dict,
    "result": (dict, type(None)),
    "error": (str, type(None)),
}


def read_all(folder: Path) -> list[Stored]:
    """Return every result in a folder, by name.

    Raises:
        StoredError: There is none, or one is no result.
    """
    found = [read(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise StoredError(f"{folder}: no results; `make bench` writes them")
    return found


def read(path: Path) -> Stored:
    """Return one result.

    Raises:
        StoredError: It is none, or not whole.
    """
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise StoredError(
            f"{path}: not JSON ({error}); delete it and run the bench again"
        ) from None
    if not isinstance(found, dict) or set(found) != set(FIELDS):
        raise StoredError(f"{path}: not a result of `make bench`, which has {', '.join(FIELDS)}")
    for name, kind in FIELDS.items():
        if not isinstance(found[name], kind):
            raise StoredError(f"{path}: {name} is {found[name]!r}")
    if found["bench"] != path.stem:
        raise StoredError(f"{path}: holds the result of {found['bench']!r}")
    if (found["result"] is None) == (found["error"] is None):
        raise StoredError(f"{path}: has to have either a result or an error")
    if found["result"] is not None and "missed" not in found["result"]:
        raise StoredError(f"{path}: the result doesn't say whether its target was missed")
    return Stored(**found)
