"""Kills a job of real DCP saves at every call that it makes, or at some, and looks at what is left.

``python -m tests.support.dcp_crash_explorer URL [--points N] [--seed S] [--at-once J]``, with N
points of each victim; a process of its own, as what it forks can use no store that was opened
before. Prints what it has done as JSON.

Several jobs run beside each other, each with a directory and a Store of its own: most of what one
takes is waiting, for the rank that lives on and for the agent that ends it.
"""

import argparse
import json
import logging
import os
import shutil
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial

import torch._dynamo  # noqa: F401 - each forked rank would import it at its first optimizer step

from tests.support.crash_explorer import dice, say
from tests.support.killed_dcp import STEPS, look, run_job
from tests.support.killed_job import forked
from tests.support.watched_calls import Crash, Victim


def main() -> int:
    """Explore; return 1 if a checkpoint was lost, torn or wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--points", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=2)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "torch.distributed is disabled")
    logging.getLogger("trainer_hooks").setLevel(logging.CRITICAL)  # a death is to be expected
    began, draw, of_each = time.monotonic(), dice(options.seed), points(options.url)
    if options.points is not None:
        of_each = [draw.sample(found, options.points) for found in of_each]
    crashes = [crash for found in of_each for crash in found]
    told, tell = os.pipe()  # which holds what 2,000 jobs have to tell
    failed = explore(options.url, crashes, options.at_once, tell)
    os.close(tell)
    with os.fdopen(told, encoding="ascii") as lines:
        seen = [json.loads(line) for line in lines]
    if failed is not None:
        url = f"{options.url}/{failed}"
        say({"failed": repr(crashes[failed]), "seed": options.seed, "url": url})
        return 1
    committed: dict[str, dict[str, int]] = {}
    for victim, step, _ in seen:
        of_victim = committed.setdefault(victim, {})
        of_victim[str(step)] = of_victim.get(str(step), 0) + 1
    say(
        {
            "points": len(seen),
            "killed": sum(was_killed for *_, was_killed in seen),
            "seed": options.seed,
            "committed before": committed,
            "took_s": round(time.monotonic() - began),
        }
    )
    return 0


def explore(url: str, crashes: Sequence[Crash], at_once: int, tell: int) -> int | None:
    """Let jobs crash, some at a time; return the number of one that has left something wrong."""
    running: dict[int, int] = {}
    left = list(enumerate(crashes))[::-1]
    failed = None
    while running or (left and failed is None):
        while left and failed is None and len(running) < at_once:
            number, crash = left.pop()
            pid = forked(partial(crash_one, f"{url}/{number}", crash, tell), keep={tell})
            running[pid] = number
        pid, status = os.wait()
        number = running.pop(pid)
        if status != 0:
            failed = number
    return failed


def crash_one(url: str, crash: Crash, tell: int) -> None:
    """Let one job crash, look at what is left, and tell of it; in a process of its own."""
    job = run_job(url, crash)
    look(url, job.committed)
    os.write(tell, json.dumps([crash.victim, job.committed, job.was_killed]).encode() + b"\n")
    if "://" not in url:
        shutil.rmtree(url)


def points(url: str) -> list[list[Crash]]:
    """Return every call of each victim in a job that is left alone; the coordinator's are all's."""
    told = run_job(f"{url}/whole", None)
    assert told.committed == STEPS[-1], f"{told}: left alone it commits all"
    calls = {**told.calls, Victim.ALL: told.calls[Victim.COORDINATOR]}
    return [[Crash(victim, at) for at in range(1, calls[victim] + 1)] for victim in Victim]


if __name__ == "__main__":
    sys.exit(main())
