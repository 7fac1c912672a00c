"""A job of two plain processes that save, commit and delete; one is killed. No torch."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeAlias

from tests.support.saving import write_part
from tests.support.watched_calls import Crash, Victim, watch
from trainer_hooks.checkpoint.commit import commit, reserve, start_attempt
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.place import Place, place_of
from trainer_hooks.checkpoint.retention import retain

STEPS = (10, 20, 30)
KEEP = Keep(last=1)
RANKS = 2

Files: TypeAlias = dict[str, bytes]


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
    calls = watch(at, lambda: os.kill(os.getpid(), signal.SIGKILL))
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

    calls = watch(crash if crash and crash.victim is not Victim.RANK else None, kill)
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
