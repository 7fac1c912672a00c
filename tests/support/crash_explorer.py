"""Kills a job at every call that it makes, or at some of them, and looks at what is left.

``python -m tests.support.crash_explorer URL [--points N] [--seed S] [--flight S]``, with N
points of each victim; a process of its own, as what it forks can use no store that was opened
before. Prints what it has done as JSON.
"""

import argparse
import json
import os
import random
import shutil
import sys
from functools import partial
from pathlib import Path

from tests.support.killed_job import KEEP, RANKS, STEPS, files_of, forked, run_job
from tests.support.saving import write_part
from tests.support.watched_calls import Crash, Victim
from trainer_hooks.checkpoint.commit import commit, reserve, start_attempt
from trainer_hooks.checkpoint.latest import Checkpoint, committed, damaged_files, latest_committed
from trainer_hooks.checkpoint.layout import SaveName, saves
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.checkpoint.place import Place, place_of
from trainer_hooks.checkpoint.retention import retain, sweep


def main() -> int:
    """Explore; return 1 if a checkpoint was lost, torn or wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--points", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flight", type=float, default=0.0)
    options = parser.parse_args()
    draw = dice(options.seed)
    of_each = [points(options.url, victim, draw, options.flight) for victim in Victim]
    if options.points is not None:
        of_each = [draw.sample(found, options.points) for found in of_each]
    crashes = [crash for found in of_each for crash in found]
    seen: dict[str, dict[str, int]] = {}
    for number, crash in enumerate(crashes):
        url = f"{options.url}/{number}"
        told = run_job(url, crash)
        pid = forked(partial(look, url, told.committed), keep=set())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code != 0:
            say({"failed": repr(crash), "seed": options.seed, "url": url})
            return 1
        of_victim = seen.setdefault(crash.victim, {})
        of_victim[str(told.committed)] = of_victim.get(str(told.committed), 0) + 1
        if "://" not in url:
            shutil.rmtree(url)
    say({"killed": len(crashes), "seed": options.seed, "committed before": seen})
    return 0


def say(what: dict[str, object]) -> None:
    """Write it out, for the test that has started this."""
    sys.stdout.write(json.dumps(what) + "\n")


def dice(seed: int) -> random.Random:
    """Return what is drawn from, again the same for the same seed."""
    return random.Random(seed)  # noqa: S311 - a test's choice


def points(url: str, victim: Victim, draw: random.Random, flight_s: float) -> list[Crash]:
    """Return every call of a victim in a job that is left alone."""
    told = run_job(f"{url}/whole-{victim}", Crash(victim, -1))
    assert told.committed == STEPS[-1], f"{told}: left alone it commits all"
    return [
        Crash(victim, at_call, draw.random() * flight_s if flight_s else None)
        for at_call in range(1, told.calls + 1)
    ]


def look(url: str, told: int) -> None:
    """See that what a crash has left is right, and that the next start goes on from it."""
    root = place_of(url)
    newest = latest_committed(root)
    step = 0 if newest is None else newest.step
    assert step in (told, told + 10), f"newest is {step}, and {told} was committed"
    for checkpoint in committed(root):
        check(checkpoint)
    attempt = start_attempt(root)
    sweep(root)
    whole = [found.marker.name for found in committed(root)]
    assert names_with(root, Mark.UNFINISHED) <= {*whole}, "a leftover was not swept"
    assert saves(root) == whole, f"{saves(root)} are there, and {whole} are checkpoints"
    name = SaveName(step + 10, attempt)
    directory = reserve(root, name)
    for rank in range(RANKS):
        write_part(directory, rank, files_of(name.step)[rank])
    commit(root, name, world_size=RANKS, save_every_steps=10, took_s=1.5)
    retain(root, KEEP, lambda: True)
    assert [found.step for found in committed(root)] == [name.step]
    assert saves(root) == [name]


def check(checkpoint: Checkpoint) -> None:
    """See that a checkpoint is whole to the last bit, and holds what was saved at its step."""
    assert damaged_files(checkpoint) == [], checkpoint.path
    for files in files_of(checkpoint.step):
        for name, data in files.items():
            assert read(checkpoint.path / name) == data, name


def read(place: Place) -> bytes:
    """Return what lies at a place."""
    return place.read_bytes() if isinstance(place, Path) else place.bucket.get(place.key)


if __name__ == "__main__":
    sys.exit(main())
