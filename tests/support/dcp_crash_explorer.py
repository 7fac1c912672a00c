"""Kills a job of real DCP saves at every call that it makes, or at some, and looks at what is left.

``python -m tests.support.dcp_crash_explorer URL [--points N] [--seed S]``, with N points of each
victim; a process of its own, as what it forks can use no store that was opened before.
Prints what it has done as JSON.
"""

import argparse
import logging
import os
import shutil
import sys
import warnings
from functools import partial

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
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "torch.distributed is disabled")
    logging.getLogger("trainer_hooks").setLevel(logging.CRITICAL)  # a death is to be expected
    draw, of_each = dice(options.seed), points(options.url)
    if options.points is not None:
        of_each = [draw.sample(found, options.points) for found in of_each]
    crashes = [crash for found in of_each for crash in found]
    seen: dict[str, dict[str, int]] = {}
    killed = 0
    for number, crash in enumerate(crashes):
        url = f"{options.url}/{number}"
        told = run_job(url, crash)
        killed += told.was_killed
        pid = forked(partial(look, url, told.committed), keep=set())
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
            say({"failed": repr(crash), "seed": options.seed, "url": url})
            return 1
        of_victim = seen.setdefault(crash.victim, {})
        of_victim[str(told.committed)] = of_victim.get(str(told.committed), 0) + 1
        if "://" not in url:
            shutil.rmtree(url)
    say(
        {
            "points": len(crashes),
            "killed": killed,
            "seed": options.seed,
            "committed before": seen,
        }
    )
    return 0


def points(url: str) -> list[list[Crash]]:
    """Return every call of each victim in a job that is left alone; the coordinator's are all's."""
    told = run_job(f"{url}/whole", None)
    assert told.committed == STEPS[-1], f"{told}: left alone it commits all"
    calls = {**told.calls, Victim.ALL: told.calls[Victim.COORDINATOR]}
    return [[Crash(victim, at) for at in range(1, calls[victim] + 1)] for victim in Victim]


if __name__ == "__main__":
    sys.exit(main())
