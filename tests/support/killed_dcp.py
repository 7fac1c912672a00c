"""A job of two real ranks whose checkpointers save by DCP, and one of them is killed."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch._dynamo  # each forked rank would import it, for 0.6 s
import torch.distributed as dist
from torch.distributed import HashStore

from tests.support.killed_job import KEEP, forked
from tests.support.ports import quiet_port
from tests.support.training import Run
from tests.support.watched_calls import Crash, Victim, watch
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import committed, damaged_files, latest_committed
from trainer_hooks.checkpoint.layout import Attempt, saves
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.checkpoint.place import place_of
from trainer_hooks.checkpoint.resume import resume
from trainer_hooks.checkpoint.retention import retain, sweep
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.checkpoint.vote import Vote
from trainer_hooks.world import World

STEPS = (10, 20)
EVERY = 10
RANKS = 2

AGENT_S = 1.0
"""Seconds that a rank may live on when another has been killed; then the agent ends it too."""

_LIMIT_S = 120.0
"""For a job that nobody is killed in."""

_VOTE_CALLS: list[tuple[Any, str]] = [
    (Vote, name) for name in ("cast", "failures", "settle", "outcome")
]
"""Between two calls of the storage, and what the other rank makes of a death is another thing."""


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a job."""

    committed: int
    """The last step of which any rank was told that it is committed; 0 if none was."""
    calls: dict[Victim, int]
    """How many calls each rank has made, of those that came to their end."""
    was_killed: bool
    """Whether the crash has come: a job may make a call less than the last one."""


def run_job(url: str, crash: Crash | None) -> Told:
    """Run the job at a place; return once all of it has ended."""
    told, tell = os.pipe()
    port = quiet_port()
    rank = forked(lambda: _Rank(1, url, tell, crash).live(port), keep={tell})
    first = forked(lambda: _Rank(0, url, tell, crash, rank).live(port), keep={tell})
    os.close(tell)
    was_killed = _ended({rank, first})
    with os.fdopen(told, encoding="ascii") as lines:
        words = [line.split() for line in lines]
    steps = [int(number) for what, number in words if what == "committed"]
    calls = {Victim(what): int(number) for what, number in words if what != "committed"}
    return Told(max(steps, default=0), calls, was_killed)


def _ended(pids: set[int]) -> bool:
    """Wait for all, as an agent does; tell whether one was killed before the agent kills."""
    was_killed, end = False, time.monotonic() + _LIMIT_S
    while pids:
        for pid in sorted(pids):
            found, status = os.waitpid(pid, os.WNOHANG)
            pids -= {found}
            if found and status and time.monotonic() < end:
                was_killed |= os.WIFSIGNALED(status)
                end = min(end, time.monotonic() + AGENT_S)
        if time.monotonic() > end:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    return was_killed


@dataclass(frozen=True, slots=True)
class _Rank:
    """A rank, in a process of its own."""

    number: int
    url: str
    tell: int
    crash: Crash | None
    other: int = 0
    """The other rank's process."""

    def live(self, port: int) -> None:
        """Train, save, and say what was committed; be killed if that is due."""
        torch.set_num_threads(1)
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        at = f"tcp://127.0.0.1:{port}"
        dist.init_process_group("gloo", init_method=at, rank=self.number, world_size=RANKS)
        world, root, run = World.connect(), place_of(self.url), Run()
        mine, kill = self._crash()
        calls = watch(mine, kill, _VOTE_CALLS)
        attempt = start_attempt(root) if world.is_coordinator else Attempt(0, "0000")
        attempt = world.from_coordinator(attempt)
        checkpointer = Checkpointer(root, world, attempt, save_every_steps=EVERY)
        for step in STEPS:
            run.step()
            checkpointer.save(run.state.capture(step))
            checkpointer.wait(None)
            if checkpointer.failure is None:
                os.write(self.tell, b"committed %d\n" % step)
                if world.is_coordinator:
                    retain(root, KEEP, lambda: True)
        victim = Victim.COORDINATOR if world.is_coordinator else Victim.RANK
        os.write(self.tell, f"{victim} {calls.count}\n".encode())
        dist.barrier()  # rank 0 hosts the Store

    def _crash(self) -> tuple[Crash | None, Callable[[], None]]:
        """Return the crash if it is of this rank, and how it is killed."""

        def kill() -> None:
            if self.crash is not None and self.crash.victim is Victim.ALL:
                os.kill(self.other, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

        if self.crash is None or (self.crash.victim is Victim.RANK) is (self.number == 0):
            return None, kill
        return self.crash, kill


def look(url: str, told: int) -> None:
    """See that what a crash has left is right, loads, and that a next start goes on from it.

    In a world of one: that two ranks have written it makes no difference.
    """
    torch.set_num_threads(1)  # as on the ranks: another number computes other bits
    root = place_of(url)
    newest = latest_committed(root)
    step = 0 if newest is None else newest.step
    assert step in (told, told + EVERY), f"newest is {step}, and {told} was committed"
    assert [damaged_files(found) for found in committed(root)] in ([], [[]], [[], []])
    attempt = start_attempt(root)
    sweep(root)
    whole = [found.marker.name for found in committed(root)]
    assert names_with(root, Mark.UNFINISHED) <= {*whole}, "a leftover was not swept"
    assert saves(root) == whole, f"{saves(root)} are there, and {whole} are checkpoints"
    store: Any = HashStore()
    world, run = World(rank=0, size=1, store=store, group=None), Run(seed=5)
    point = resume(root, run.state, world, attempt=attempt)
    assert (0 if point is None else point.step) == step
    if point is not None:
        assert run.all()[:3] == _trained(step).all()[:3], f"step {step} holds another state"
    run.step()
    checkpointer = Checkpointer(root, world, attempt, save_every_steps=EVERY)
    checkpointer.save(run.state.capture(step + EVERY))
    checkpointer.wait(None)
    assert checkpointer.failure is None, checkpointer.failure
    retain(root, KEEP, lambda: True)
    kept = [step + EVERY, *([step] if step else [])]  # what was resumed from is kept as well
    assert [found.step for found in committed(root)] == kept
    assert [name.step for name in saves(root)] == kept


def _trained(step: int) -> Run:
    """Train up to a step as each rank of the job has."""
    run = Run()
    run.step(step // EVERY)
    return run
