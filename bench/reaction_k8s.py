"""How long a node takes from the bytes of a notice to its flag, and to the taint on its Node.

Real time, real daemons in metadata and Kubernetes mode: each has a simulated VM of Compute
Engine's, and all of them one API server, over TLS. One node after the other is announced its end,
and that is called off again. From just before the answer that says so leaves the metadata server:

  flag   to the flag file, renamed in a run directory on tmpfs (inotify)
  taint  to the write that the API server accepts, with the taint in it

Beside each daemon, with a Node of its own, a handler that does these two things and nothing else
(bench/lab/bare.py): what it takes is the machine's.

Every tenth notice of a node comes after a minute without one, so that a connection that has gone
cold shows; ten nodes wait side by side. All of it once on an idle machine and once with every core
busy. Beside that, idle:

  kubectl  from the start of `kubectl taint`, which a handler runs, to that write

Metadata servers, API server and whoever looks are this process, which gets ahead of others and
stays in memory where it may (as root): on a real node none of them is a program on its cores. The
daemons have the weight beside others that their unit gives them (see detection_gcp.py). With 100
notices it takes about six minutes.

The last line is one JSON object. Exit status 1 when a target is missed, idle or busy: the whole
95 % interval of the 99th percentile is above 5 ms for the flag, or above 50 ms for the taint. Where
the bare handler itself does not keep to a target, `machine_allows` is false; the target is missed
there as anywhere, and `flag_times_bare` says how much of it is ours.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from lab.ahead import get_ahead
from lab.busy import busy_cores
from lab.cluster import ClusterNode, cluster
from lab.intervals import least_percentile, median_interval, ratio_interval
from lab.machine import machine
from lab.sizes import parsed
from rich.progress import Progress

from watcher.memory_lock import stay_in_memory

FLAG_TARGET_S = 0.005
TAINT_TARGET_S = 0.050
"""design.md 7: bytes received to flag file renamed, and to taint on the API server."""

NODES = 10
EVERY = 10
"""Of so many notices of a node one comes after a pause."""

IDLE_S = 60.0
REST_S = (0.2, 0.6)
"""Before any other notice, in seconds: what was done about the one before is undone by then."""

PEERS = 5
"""Runs of kubectl, each of which takes more than all that we do."""

LIMIT_S = 20.0


@dataclass(slots=True)
class Reactions:
    """What the notices took, in seconds."""

    flag_s: list[float] = field(default_factory=list)
    taint_s: list[float] = field(default_factory=list)
    bare_flag_s: list[float] = field(default_factory=list)
    bare_taint_s: list[float] = field(default_factory=list)

    def note(self, ours: tuple[float, float], bare: tuple[float, float]) -> None:
        """Note one notice's: to the flag, and to the taint."""
        self.flag_s.append(ours[0])
        self.taint_s.append(ours[1])
        self.bare_flag_s.append(bare[0])
        self.bare_taint_s.append(bare[1])

    def __add__(self, other: Self) -> "Reactions":
        """Return both together."""
        return Reactions(
            self.flag_s + other.flag_s,
            self.taint_s + other.taint_s,
            self.bare_flag_s + other.bare_flag_s,
            self.bare_taint_s + other.bare_taint_s,
        )


@dataclass(slots=True)
class Phase:
    """What was measured idle or busy: after a pause, and soon after another notice."""

    cold: Reactions = field(default_factory=Reactions)
    warm: Reactions = field(default_factory=Reactions)
    kubectl_s: list[float] = field(default_factory=list)
    """What a kubectl took, which knew already."""

    @property
    def every(self) -> Reactions:
        """All notices."""
        return self.cold + self.warm


def main() -> None:
    """Measure, show the figures, and end the process with 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--notices", type=int, default=100, metavar="N", help="idle, and again busy (%(default)s)")
    add("--idle", type=float, default=IDLE_S, metavar="S", help="the pause (%(default)s)")
    arguments = parsed(parser, notices=20, idle=5.0)
    if arguments.notices < 1:
        parser.error("--notices has to be at least 1")
    is_ahead = get_ahead() and not stay_in_memory()
    idle = asyncio.run(measure("idle", arguments.notices, arguments.idle, peers=PEERS))
    with busy_cores():
        busy = asyncio.run(measure("busy", arguments.notices, arguments.idle))
    result = result_of(idle, busy)
    print(table(idle, busy))
    rest = {"idle_s": arguments.idle, "is_ahead": is_ahead, "machine": machine()}
    print(json.dumps({**result, **rest}))
    sys.exit(1 if result["missed"] else 0)


async def measure(name: str, notices: int, idle_s: float, *, peers: int = 0) -> Phase:
    """Return what so many notices took, and so many runs of kubectl after them."""
    phase = Phase()
    count = nodes_for(notices)
    async with cluster(count) as (nodes, kubectl):
        with Progress(transient=True) as progress:
            task = progress.add_task(name, total=notices)
            for number, is_cold in plan(notices, count):
                node = nodes[number % count]
                if is_cold and number % count == 0:
                    progress.update(task, description=f"{name}, waits {idle_s:g} s")
                    await asyncio.sleep(idle_s)
                    progress.update(task, description=name)
                await asyncio.sleep(random.uniform(*REST_S))  # noqa: S311 - a phase, not a secret
                async with asyncio.timeout(LIMIT_S):
                    (phase.cold if is_cold else phase.warm).note(*await reaction(node))
                progress.advance(task)
        for _ in range(peers):
            phase.kubectl_s.append(await nodes[0].tainted_by(kubectl))
    return phase


def nodes_for(notices: int) -> int:
    """Return how many nodes wait side by side: each is to have EVERY notices, if it can."""
    return max(1, min(NODES, notices // EVERY))


def plan(notices: int, nodes: int) -> Iterator[tuple[int, bool]]:
    """Yield each notice's number, and whether it comes after a pause; nodes take turns."""
    for number in range(notices):
        yield number, number // nodes % EVERY == 0


async def reaction(node: ClusterNode) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return what one notice took to flag and taint, us and the bare, once it is called off."""
    await node.announce()
    answered = await node.answers.when(is_there=True)
    ours, bare = await asyncio.gather(*(one.when(is_there=True) for one in (node.ours, node.bare)))
    await node.call_off()
    return (ours[0] - answered, ours[1] - answered), (bare[0] - answered, bare[1] - answered)


def result_of(idle: Phase, busy: Phase) -> dict[str, object]:
    """Return the last line, but for what was set and the machine."""
    both = {"idle": idle, "busy": busy}
    return {
        "bench": "reaction_k8s",
        "target": {"flag_p99_s": FLAG_TARGET_S, "taint_p99_s": TAINT_TARGET_S},
        "missed": any(_is_missed(phase.every) for phase in both.values()),
        "kubectl": _figure(idle.kubectl_s),
        "kubectl_times_our_taint": round(_median(idle.kubectl_s) / _median(idle.every.taint_s), 2),
        **{
            name: {
                "notices": len(phase.every.flag_s),
                "machine_allows": _machine_allows(phase.every),
                **_figures(phase.every),
                "after_a_pause": _figures(phase.cold),
            }
            for name, phase in both.items()
        },
    }


def _is_missed(every: Reactions) -> bool:
    targets = ((every.flag_s, FLAG_TARGET_S), (every.taint_s, TAINT_TARGET_S))
    return any(least_percentile(seconds, 99) > target_s for seconds, target_s in targets)


def _machine_allows(every: Reactions) -> dict[str, bool]:
    return {
        "flag": _p99(every.bare_flag_s) <= FLAG_TARGET_S,
        "taint": _p99(every.bare_taint_s) <= TAINT_TARGET_S,
    }


def _figures(reactions: Reactions) -> dict[str, object]:
    return {
        "flag": _figure(reactions.flag_s),
        "taint": _figure(reactions.taint_s),
        "bare_flag": _figure(reactions.bare_flag_s),
        "bare_taint": _figure(reactions.bare_taint_s),
        "flag_times_bare": ratio_interval(reactions.flag_s, reactions.bare_flag_s).to_json(),
    }


def _figure(seconds: Sequence[float]) -> dict[str, object]:
    return {
        "samples": len(seconds),
        "median_s": median_interval(seconds).to_json(),
        "p99_s": round(_p99(seconds), 5),
        "p99_at_least_s": round(least_percentile(seconds, 99), 5),
        "max_s": round(max(seconds), 5),
    }


def _median(seconds: Sequence[float]) -> float:
    return median_interval(seconds).median


def _p99(seconds: Sequence[float]) -> float:
    return float(np.percentile(seconds, 99))


def table(idle: Phase, busy: Phase) -> str:
    """Return the figures for people."""
    lines = [f"{'ms from the bytes':26}{'median':>9}{'p99':>9}{'max':>9}   samples"]
    for name, phase in (("idle", idle), ("busy", busy)):
        rows = {
            "flag": phase.every.flag_s,
            "flag, after a pause": phase.cold.flag_s,
            "taint": phase.every.taint_s,
            "taint, after a pause": phase.cold.taint_s,
            "bare flag": phase.every.bare_flag_s,
            "bare taint": phase.every.bare_taint_s,
            "kubectl taint": phase.kubectl_s,
        }
        for what, seconds in ((what, one) for what, one in rows.items() if one):
            shown = (_median(seconds), _p99(seconds), max(seconds))
            figures = "".join(f"{1000 * figure:9.2f}" for figure in shown)
            lines.append(f"{name}  {what:20}{figures}   {len(seconds)}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
