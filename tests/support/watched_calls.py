"""A process that is killed at one of the calls that it makes of file system and store.

Every call is a place where it can happen. A kill before a call is a kill after the one before it,
so all the states are seen in which a crash can leave the storage.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, Self

from trainer_hooks.checkpoint.bucket import Bucket

_FILE_CALLS: list[tuple[Any, str]] = [
    (os, name)
    for name in (
        "open", "fsync", "link", "unlink", "rename", "replace", "mkdir", "rmdir", "listdir", "stat",
    )
]  # fmt: skip
_STORE_CALLS: list[tuple[Any, str]] = [
    (Bucket, name) for name in ("put", "_create", "delete", "get", "size", "sizes", "children")
]


class Victim(StrEnum):
    """Who is killed."""

    RANK = "rank"
    COORDINATOR = "coordinator"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Crash:
    """When somebody is killed."""

    victim: Victim
    at_call: int
    after_s: float | None = None
    """None: before the call. Else so long after it has begun, when it may be on its way."""


class Calls:
    """Counts the calls of a process, and kills at one of them."""

    def __init__(self, crash: Crash | None, kill: Callable[[], None]) -> None:
        self.count = 0
        self._crash = crash
        self._kill = kill
        self._counting = threading.Lock()

    def note(self) -> None:
        """Count one, or be killed."""
        with self._counting:
            self.count += 1
            is_time = self._crash is not None and self.count == self._crash.at_call
        if is_time and self._crash is not None:
            if self._crash.after_s is None:
                self._kill()
            else:
                threading.Timer(self._crash.after_s, self._kill).start()


def watch(
    crash: Crash | None, kill: Callable[[], None], more: Sequence[tuple[Any, str]] = ()
) -> Calls:
    """Count what this process asks of file system and store from now on, and ``more``."""
    calls = Calls(crash, kill)

    def noted(call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: object, **options: object) -> object:
            calls.note()
            return call(*arguments, **options)

        return noting

    for home, name in [*_FILE_CALLS, *_STORE_CALLS, *more]:
        setattr(home, name, noted(getattr(home, name)))
    opened = Path.open

    def open_noted(path: Path, mode: str = "r", **options: Any) -> Any:  # noqa: ANN401 - as pathlib has it
        calls.note()
        file = opened(path, mode, **options)
        return _Written(file, calls) if mode in ("wb", "xb") else file

    Path.open = open_noted  # type: ignore[method-assign, assignment]
    return calls


class _Written:
    """A file that is written in halves, so that a kill may come between them.

    Of a file that is written in many pieces, the 1st, 2nd, 4th, 8th and so on: torn is torn.
    """

    def __init__(self, file: IO[bytes], calls: Calls) -> None:
        self._file = file
        self._calls = calls
        self._pieces = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes | memoryview) -> int:
        self._pieces += 1
        if self._pieces & (self._pieces - 1):
            return self._file.write(data)
        written = bytes(data)
        for half in _halves(written):
            self._file.write(half)
            self._file.flush()
            self._calls.note()
        return len(written)

    @property
    def closed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()

    def flush(self) -> None:
        self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


def _halves(data: bytes) -> Iterator[bytes]:
    yield data[: len(data) // 2]
    yield data[len(data) // 2 :]
