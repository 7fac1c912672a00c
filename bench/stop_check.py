"""What it costs each training step to ask whether all ranks have to stop.

Real ranks on gloo, 2 and then 4 processes. In one run, in short alternating blocks:

  ours        StepAgreement.reached(step) over a TCPStore, its thread and the listener's running
  all_reduce  a gloo all_reduce of an int32, and reading it
  all_gather  a new tensor, a gloo all_gather of it, and reading every rank's: Megatron's way
  broadcast   a new tensor, a gloo broadcast from rank 0, and reading it: Lightning's way
  exists      os.path.exists(flag): one rank's own look, with which nobody has agreed on anything

Calls follow each other closely. A training step between them would make each scheme's first call
slower, because it has turned everything else out of the caches.

The last line is one JSON object. Exit status 1 when the target is missed: ours takes more than
1 us in the median, and the whole 95 % interval of the median lies above that.
"""

import argparse
import json
import os.path
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from lab.intervals import Interval, median_interval, ratio_interval
from lab.machine import machine
from lab.ranks import Ranks
from lab.sizes import parsed

from trainer_hooks import StepAgreement, StopListener
from trainer_hooks.world import World

A = TypeVar("A")

SIZES = (2, 4)
OURS = "ours"
TARGET_US = 1.0
"""design.md 7: the healthy path costs nothing."""

LOCAL_CALLS = 1000
"""Calls that make one sample of a scheme that takes hardly longer than reading the clock."""

COLLECTIVES = 5
"""Samples that a collective has in a block."""

WARM_UP_ROUNDS = 10

Round = dict[str, list[float]]
"""One rank's samples of one round: by scheme, microseconds a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What a call of one scheme takes."""

    median_us: Interval
    """Over the rounds' medians."""
    p99_us: float
    """Over all samples, each of which may be a mean of many calls."""
    times_ours: Interval | None
    """From pairs of the same round; None for ours."""
    samples: int

    def to_json(self) -> dict[str, object]:
        """Return it for the last line."""
        return {
            "median_us": self.median_us.to_json(),
            "p99_us": round(self.p99_us, 3),
            "times_ours": None if self.times_ours is None else self.times_ours.to_json(),
            "samples": self.samples,
        }


def main() -> None:
    """Measure, show the figures, and end the process with 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=500, metavar="N", help="blocks of each scheme (%(default)s)"
    )
    rounds = parsed(parser, rounds=100).rounds
    if rounds < 1:
        parser.error("--rounds has to be at least 1")
    by_size = {size: figures_of(measure(size, rounds)) for size in SIZES}
    is_missed = any(figures[OURS].median_us.is_beyond(TARGET_US) for figures in by_size.values())
    print("\n\n".join(table(size, figures) for size, figures in by_size.items()))
    result = {
        "bench": "stop_check",
        "target": {"scheme": OURS, "median_us": TARGET_US},
        "missed": is_missed,
        "ranks": {
            str(size): {name: figure.to_json() for name, figure in figures.items()}
            for size, figures in by_size.items()
        },
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if is_missed else 0)


def measure(size: int, rounds: int) -> list[list[Round]]:
    """Return the samples of all rounds but those that warm up: by round, by rank."""
    with tempfile.TemporaryDirectory() as run_dir:
        work = partial(ask_in_turns, Path(run_dir) / "notice.json", WARM_UP_ROUNDS + rounds)
        with Ranks[Round](size, work) as ranks:
            return ranks.measured(f"{size} ranks", rounds, warm_up=WARM_UP_ROUNDS)


def ask_in_turns(flag: Path, rounds: int, send: Callable[[Round], None]) -> None:
    """Be a rank: time each scheme in turn, and send the samples of each round."""
    listener = StopListener(lambda: None, flag_path=flag)
    agreement = StepAgreement(World.connect(), listener.pending)
    listener.start()
    agreement.start()
    shared = torch.zeros(1, dtype=torch.int32)
    for number in range(rounds):
        steps = range(number * LOCAL_CALLS, (number + 1) * LOCAL_CALLS)
        blocks: list[tuple[str, Callable[[], list[float]]]] = [
            (OURS, partial(time_local, agreement.reached, steps)),
            ("all_reduce", partial(time_collective, partial(all_reduce, shared))),
            ("all_gather", partial(time_collective, all_gather)),
            ("broadcast", partial(time_collective, broadcast)),
            ("exists", partial(time_local, os.path.exists, [str(flag)] * LOCAL_CALLS)),
        ]
        first = number % len(blocks)  # so that no scheme always comes after the same other one
        send({name: block() for name, block in blocks[first:] + blocks[:first]})
    dist.barrier()
    agreement.close()
    listener.close()
    dist.barrier()  # rank 0 hosts the Store, and the others have just used it


def time_local(call: Callable[[A], object], arguments: Sequence[A]) -> list[float]:
    """Return one sample: the mean microseconds of a call, without the loop around it."""
    started = perf_counter_ns()
    for argument in arguments:
        call(argument)
    called_ns = perf_counter_ns() - started
    # The shortest of three: a loop in which another process ran would make the call too cheap.
    loop_ns = min(time_loop_ns(arguments) for _ in range(3))
    return [(called_ns - loop_ns) / len(arguments) / 1000]


def time_loop_ns(arguments: Iterable[object]) -> int:
    """Return the nanoseconds of a loop that does nothing."""
    started = perf_counter_ns()
    for _ in arguments:
        pass
    return perf_counter_ns() - started


def time_collective(call: Callable[[], object]) -> list[float]:
    """Return the microseconds of each of a few calls, all ranks having come to the first."""
    dist.barrier()
    samples = []
    for _ in range(COLLECTIVES):
        started = perf_counter_ns()
        call()
        samples.append((perf_counter_ns() - started) / 1000)
    return samples


def all_reduce(shared: torch.Tensor) -> bool:
    """Learn whether any rank has to stop, the plain way."""
    dist.all_reduce(shared, op=dist.ReduceOp.MAX)
    return bool(shared.item())


def all_gather() -> bool:
    """Learn whether any rank has to stop, as Megatron's signal handler does after each step."""
    told = torch.tensor([0], dtype=torch.int32)
    all_told = [torch.empty_like(told) for _ in range(dist.get_world_size())]
    dist.all_gather(all_told, told)
    by_rank = [one.item() for one in all_told]
    return any(by_rank)


def broadcast() -> bool:
    """Learn whether rank 0 has to stop, as Lightning's loop does after each batch."""
    told = torch.tensor([0], dtype=torch.int32)
    dist.broadcast(told, src=0)
    return bool(told.item())


def figures_of(rounds: Sequence[Sequence[Round]]) -> dict[str, Figure]:
    """Return each scheme's figure. A round counts once, with the median of all its ranks."""
    typical = {
        name: [median(us for rank in round_ for us in rank[name]) for round_ in rounds]
        for name in rounds[0][0]
    }
    figures = {}
    for name, medians in sorted(typical.items()):
        samples = [us for round_ in rounds for rank in round_ for us in rank[name]]
        figures[name] = Figure(
            median_us=median_interval(medians),
            p99_us=float(np.percentile(samples, 99)),
            times_ours=None if name == OURS else ratio_interval(medians, typical[OURS]),
            samples=len(samples),
        )
    return figures


def table(size: int, figures: dict[str, Figure]) -> str:
    """Return the figures of one world size for people, the cheapest first."""
    lines = [f"{size} ranks       us a step, median (95 %)            p99   times ours (95 %)"]
    for name, figure in sorted(figures.items(), key=lambda item: item[1].median_us.median):
        us, times = figure.median_us, figure.times_ours
        line = f"  {name:10} {us.median:8.2f}  ({us.low:.2f} to {us.high:.2f})"
        line = f"{line:42}{figure.p99_us:10.2f}"
        if times is not None:
            line += f"   {times.median:.1f}  ({times.low:.1f} to {times.high:.1f})"
        lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    main()
