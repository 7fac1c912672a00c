"""How long it takes from a Spot notice at EC2's metadata service to the flag on the node.

Real time, real processes: several simulated instances, each with a daemon of ours and, beside it,
a handler that ticks: every 2 s it asks, every 1 s it acts (bench/lab/ticking.py). Each notice is
issued at a random phase of both, and both see the same ones.

  ours     from just before the notice is issued to the flag file that shows it (inotify)
  ticking  from the same instant to the tick on which the handler would begin to act

A daemon withdraws a notice only minutes after its deadline, and a new one per notice would measure
Python's start. So each daemon hears many notices, one after the other, each with a time one second
earlier than the last: that is news on the spot, and takes the same way as the first.

The last line is one JSON object. Exit status 1 when the target is missed: the whole 95 % interval
of our median lies above 0.55 s, or a single notice took longer than 1.05 s.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp
import numpy as np
from lab.intervals import Interval, median_interval, ratio_interval
from lab.machine import machine
from lab.nodes import Node, nodes
from lab.sizes import parsed
from lab.ticking import TickingHandler
from rich.progress import Progress

MEDIAN_TARGET_S = 0.55
MAX_TARGET_S = 1.05
"""A poll a second sees a notice after half a second, and a second at the most; the rest is ours."""

FIRST_LEFT_S = 115
"""Seconds that the first notice leaves: what is more than 120 would be cut to that."""

REST_S = 2.0
"""Longest rest between two notices: one round of the slowest tick, so that the phase is random."""

NOTICE_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What one notice took, in seconds."""

    ours_s: float
    ticking_s: float


@dataclass(frozen=True, slots=True)
class Figure:
    """What the notices took one handler."""

    median_s: Interval
    p99_s: float
    max_s: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Figure":
        """Return the figure of these samples."""
        return cls(median_interval(seconds), float(np.percentile(seconds, 99)), max(seconds))

    def to_json(self) -> dict[str, object]:
        """Return it for the last line."""
        return {
            "median_s": self.median_s.to_json(),
            "p99_s": round(self.p99_s, 3),
            "max_s": round(self.max_s, 3),
        }


def main() -> None:
    """Measure, show the figures, and end the process with 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--nodes", type=int, default=10, metavar="N", help="instances at a time (%(default)s)")
    add("--notices", type=int, default=32, metavar="N", help="for each of them (%(default)s)")
    arguments = parsed(parser, notices=6)
    if min(arguments.nodes, arguments.notices) < 1:
        parser.error("--nodes and --notices have to be at least 1")
    samples = asyncio.run(measure(arguments.nodes, arguments.notices))
    result = result_of(samples)
    print(table(samples))
    print(json.dumps({**result, "machine": machine()}))
    sys.exit(1 if result["missed"] else 0)


async def measure(count: int, notices: int) -> list[Sample]:
    """Return a sample for each of so many notices at each of so many nodes."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        with Progress(transient=True) as progress:
            shown = progress.add_task("notices", total=count * notices)
            async with nodes(count, session) as running:
                work = [
                    take(node, TickingHandler(node.url, session), notices, progress, shown)
                    for node in running
                ]
                return [sample for part in await asyncio.gather(*work) for sample in part]


async def take(
    node: Node, ticking: TickingHandler, notices: int, progress: Progress, shown: object
) -> list[Sample]:
    """Issue the notices of one node, and wait for each until both have seen it."""
    samples = []
    first = int(time.time()) + FIRST_LEFT_S
    async with ticking.running():
        for number in range(notices):
            await asyncio.sleep(random.uniform(0.0, REST_S))  # noqa: S311 - a phase, not a secret
            issued = time.monotonic()
            # Half a second more, so that the way to the simulator does not change whole seconds.
            stated = await node.issue(first - number + 0.5 - time.time())
            async with asyncio.timeout(NOTICE_LIMIT_S):
                ours = await node.flags.when(stated)
                theirs = await ticking.acted.when(stated)
            samples.append(Sample(ours - issued, theirs - issued))
            progress.advance(shown)  # type: ignore[arg-type] # rich's TaskID is an int of its own
    return samples


def result_of(samples: Sequence[Sample]) -> dict[str, object]:
    """Return the last line, but for the machine."""
    ours, ticking = ([s.ours_s for s in samples], [s.ticking_s for s in samples])
    figure = Figure.of(ours)
    return {
        "bench": "detection_aws",
        "target": {"median_s": MEDIAN_TARGET_S, "max_s": MAX_TARGET_S},
        "missed": figure.median_s.is_beyond(MEDIAN_TARGET_S) or figure.max_s > MAX_TARGET_S,
        "notices": len(samples),
        "ours": figure.to_json(),
        "ticking": Figure.of(ticking).to_json(),
        "ticking_times_ours": ratio_interval(ticking, ours).to_json(),
    }


def table(samples: Sequence[Sample]) -> str:
    """Return the figures for people."""
    lines = [f"{len(samples)} notices  s to the act, median (95 %)       p99      max"]
    every = {"ours": [s.ours_s for s in samples], "ticking": [s.ticking_s for s in samples]}
    for name, seconds in every.items():
        figure = Figure.of(seconds)
        median = figure.median_s
        line = f"  {name:10} {median.median:8.2f}  ({median.low:.2f} to {median.high:.2f})"
        lines.append(f"{line:40}{figure.p99_s:8.2f} {figure.max_s:8.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
