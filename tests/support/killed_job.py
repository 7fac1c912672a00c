"""A job of two plain processes that save, commit and delete, and one of them is killed. No torch.

Every call of the file system or the store is a place where it can happen. A kill before a call is a
kill after the one before it, so all the states are seen in which a crash can leave the storage.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, NoReturn, Self, TypeAlias

from tests.support.saving import write_part
from trainer_hooks.checkpoint.bucket import Bucket
from trainer_hooks.checkpoint.commit import commit, reserve, start_attempt
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.place import Place, place_of
from trainer_hooks.checkpoint.retention import retain

STEPS = (10, 20, 30)
KEEP = Keep(last=1)
RANKS = 2

Files: TypeAlias = dict[str, bytes]

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


@dataclass(frozen=True, slots=True)
class Told:
    """What the job has said before it ended."""

    committed: int
    """The last step of which it was said that it is committed; 0 if none was."""
    calls: int
    """How many calls the victim would have made, or has."""


def files_of(step: int) -> list[Files]:
    """Return what each rank writes at a step."""
    return [
        {
            "__0_0.distcp": b"shard of rank 0 at %d" % step * 100,
            ".metadata": b"index at %d" % step,
            "state/rank_00000.json": b'{"step": %d}' % step,
        },
        {"__1_0.distcp": b"shard of rank 1 at %d" % step, "state/rank_00001.json": b"{ }"},
    ]


def run_job(url: str, crash: Crash | None) -> Told:
    """Run the job at a place; return once all of it has ended."""
    told, tell = os.pipe()
    orders, ends = [os.pipe() for _ in range(2)], list[int]()
    (ordered, order), (answered, answer) = orders
    rank = forked(lambda: _rank(url, ordered, answer, tell, crash), keep={ordered, answer, tell})
    ends.append(rank)
    ends.append(
        forked(
            lambda: _coordinator(url, (order, answered, tell), rank, crash),
            keep={order, answered, tell},
        )
    )
    for descriptor in (ordered, order, answered, answer, tell):
        os.close(descriptor)
    with os.fdopen(told, encoding="ascii") as lines:
        words = [line.split() for line in lines]
    for pid in ends:
        os.waitpid(pid, 0)
    committed = [int(number) for what, number in words if what == "committed"]
    victim = Victim.RANK if crash and crash.victim is Victim.RANK else Victim.COORDINATOR
    calls = [int(number) for what, number in words if what == victim]
    return Told(max(committed, default=0), max(calls, default=0))


def forked(act: Callable[[], object], keep: set[int]) -> int:
    """Start a process; of what this one has opened above 2 it keeps only some."""
    pid = os.fork()
    if pid == 0:
        _be(act, keep)
    return pid


def _be(act: Callable[[], object], keep: set[int]) -> NoReturn:
    code = 1
    try:
        for name in [entry.name for entry in Path("/proc/self/fd").iterdir()]:
            if int(name) > 2 and int(name) not in keep:
                _close(int(name))
        act()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is is to be read
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return  # the listing's own


def _rank(url: str, ordered: int, answer: int, tell: int, crash: Crash | None) -> None:
    """Be rank 1: write a part when told to, and say that it is done."""
    at = crash if crash and crash.victim is Victim.RANK else None
    calls = _watch(at, lambda: os.kill(os.getpid(), signal.SIGKILL))
    root = place_of(url)
    with os.fdopen(ordered, encoding="ascii") as orders:
        for line in orders:
            name = SaveName.parse(line.strip())
            assert name is not None
            write_part(root / str(name), 1, files_of(name.step)[1])
            os.write(answer, b"done\n")
    os.write(tell, f"{Victim.RANK} {calls.count}\n".encode())


def _coordinator(url: str, ways: tuple[int, int, int], rank: int, crash: Crash | None) -> None:
    """Be rank 0: reserve, write, commit when the other is done, delete; give up when it is dead."""
    order, answered, tell = ways

    def kill() -> None:
        if crash and crash.victim is Victim.ALL:
            os.kill(rank, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    calls = _watch(crash if crash and crash.victim is not Victim.RANK else None, kill)
    root = place_of(url)
    attempt = start_attempt(root)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who is told that nobody listens has to go
    for step in STEPS:
        save(root, SaveName(step, attempt), order, answered)
        os.write(tell, b"committed %d\n" % step)
        retain(root, KEEP, lambda: True)
    os.write(tell, f"{Victim.COORDINATOR} {calls.count}\n".encode())


def save(root: Place, name: SaveName, order: int, answered: int) -> None:
    """Save and commit, with the other rank."""
    directory = reserve(root, name)
    os.write(order, f"{name}\n".encode())
    write_part(directory, 0, files_of(name.step)[0])
    if os.read(answered, 5) != b"done\n":
        os._exit(3)  # the other rank is dead: nobody commits
    commit(root, name, world_size=RANKS, save_every_steps=10, took_s=1.5)


class _Calls:
    """Counts the calls of a process, and kills at one of them."""

    def __init__(self, crash: Crash | None, kill: Callable[[], None]) -> None:
        self.count = 0
        self._crash = crash
        self._kill = kill
        self._counting = threading.Lock()

    def note(self) -> None:
        with self._counting:
            self.count += 1
            is_time = self._crash is not None and self.count == self._crash.at_call
        if is_time and self._crash is not None:
            if self._crash.after_s is None:
                self._kill()
            else:
                threading.Timer(self._crash.after_s, self._kill).start()


def _watch(crash: Crash | None, kill: Callable[[], None]) -> _Calls:
    """Count what this process asks of file system and store from now on."""
    calls = _Calls(crash, kill)

    def noted(call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: object, **options: object) -> object:
            calls.note()
            return call(*arguments, **options)

        return noting

    for home, name in [*_FILE_CALLS, *_STORE_CALLS]:
        setattr(home, name, noted(getattr(home, name)))
    opened = Path.open

    def open_noted(path: Path, mode: str = "r", **options: Any) -> Any:  # noqa: ANN401 - as pathlib has it
        calls.note()
        file = opened(path, mode, **options)
        return _Written(file, calls) if mode in ("wb", "xb") else file

    Path.open = open_noted  # type: ignore[method-assign, assignment]
    return calls


class _Written:
    """A file that is written in halves, so that a kill may come between them."""

    def __init__(self, file: IO[bytes], calls: _Calls) -> None:
        self._file = file
        self._calls = calls

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> int:
        for half in _halves(bytes(data)):
            self._file.write(half)
            self._file.flush()
            self._calls.note()
        return len(data)

    def flush(self) -> None:
        self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


def _halves(data: bytes) -> Iterator[bytes]:
    yield data[: len(data) // 2]
    yield data[len(data) // 2 :]
