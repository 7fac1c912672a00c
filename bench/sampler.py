"""What the data's order costs at any number of samples: to begin, to go anywhere in it, to keep.

``ResumableSampler`` is built, sent to positions drawn at random from the first ten epochs, as a
resume does, and asked for the first sample there; and it deals samples one after another. Beside
it PyTorch's own DistributedSampler, which shuffles a list of all samples, up to as many as a
machine can be asked to list.

The last line is one JSON object. Exit status 1 when a target is missed, at any size: more than 1 ms
at the 99th percentile to build it or to go to a position, or memory that grows with the samples.
"""

import argparse
import json
import random
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import median, quantiles
from time import perf_counter_ns

from lab.machine import machine
from lab.sizes import parsed
from torch.utils.data import DistributedSampler

from trainer_hooks import ResumableSampler

SIZES = (10**3, 10**6, 10**9, 10**12)
LISTED = (10**3, 10**6)
"""Sizes that are listed, too: 10^12 would take 8 TB."""

TARGET_MS = 1.0
TARGET_GROWTH_BYTES = 16 * 1024
"""From the smallest size to the largest: numbers with more digits take some bytes more."""

ROUNDS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one size costs."""

    build_ms: float
    """99th percentile."""
    seek_ms: float
    """99th percentile, with the first sample there."""
    next_us: float
    """Median, of one sample after another."""
    peak_bytes: int
    """Of memory, over building it, a thousand seeks and a thousand samples."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="(%(default)s)")
    rounds = parsed(parser, arguments, rounds=500).rounds
    if rounds < 2:
        parser.error("--rounds has to be at least 2")
    peak_bytes(10, rounds)  # what is allocated once and for all is of no size
    costs = {size: cost_of(size, rounds) for size in SIZES}
    growth = costs[SIZES[-1]].peak_bytes - costs[SIZES[0]].peak_bytes
    is_missed = growth > TARGET_GROWTH_BYTES or any(
        max(cost.build_ms, cost.seek_ms) > TARGET_MS for cost in costs.values()
    )
    for size, cost in costs.items():
        print(
            f"{size:>17,} samples  build {cost.build_ms:.4f} ms  seek {cost.seek_ms:.4f} ms  "
            f"next {cost.next_us:.2f} us  peak {cost.peak_bytes:,} bytes"
        )
    result = {
        "bench": "sampler",
        "target": {"build_or_seek_ms": TARGET_MS, "growth_bytes": TARGET_GROWTH_BYTES},
        "rounds": rounds,
        "sizes": {str(size): asdict(cost) for size, cost in costs.items()},
        "growth_bytes": growth,
        "peer": {"name": "DistributedSampler", "sizes": {str(n): listed(n) for n in LISTED}},
        "missed": is_missed,
        "machine": machine(),
    }
    print(json.dumps(result))
    return 1 if is_missed else 0


def cost_of(size: int, rounds: int) -> Cost:
    """Measure one size."""
    draw = random.Random(size)  # noqa: S311 - positions, the same in every run
    sampler = ResumableSampler(size, seed=1, rank=0, world_size=1)

    def seek() -> None:
        sampler.position = draw.randrange(10 * size)
        next(iter(sampler))

    stream = iter(sampler)
    return Cost(
        build_ms=p99_ms(lambda: ResumableSampler(size, seed=1, rank=0, world_size=1), rounds),
        seek_ms=p99_ms(seek, rounds),
        next_us=median(timed_ns(lambda: next(stream), rounds)) / 1e3,
        peak_bytes=peak_bytes(size, rounds),
    )


def p99_ms(call: Callable[[], object], rounds: int) -> float:
    """Return the 99th percentile of a call's milliseconds."""
    return quantiles(timed_ns(call, rounds), n=100, method="inclusive")[-1] / 1e6


def timed_ns(call: Callable[[], object], rounds: int) -> list[int]:
    """Return the nanoseconds of each call."""
    samples = []
    for _ in range(rounds):
        started = perf_counter_ns()
        call()
        samples.append(perf_counter_ns() - started)
    return samples


def peak_bytes(size: int, rounds: int) -> int:
    """Return the most memory that a sampler has taken, seeking and dealing.

    Of a seed of its own: nothing of its epochs is remembered from what was timed.
    """
    draw = random.Random(size)  # noqa: S311 - likewise
    tracemalloc.start()
    sampler = ResumableSampler(size, seed=2, rank=0, world_size=1)
    for _ in range(rounds):
        sampler.position = draw.randrange(10 * size)
        next(iter(sampler))
    for _ in islice(sampler, rounds):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def listed(size: int) -> dict[str, float]:
    """Return what PyTorch's own sampler takes to its first sample, once, and the memory for it."""
    sampler: DistributedSampler[int] = DistributedSampler(
        range(size),  # type: ignore[arg-type]  # anything with a length will do
        num_replicas=1,
        rank=0,
        seed=1,
    )
    started = perf_counter_ns()
    next(iter(sampler))
    first_ms = (perf_counter_ns() - started) / 1e6
    tracemalloc.start()
    next(iter(sampler))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"seek_ms": round(first_ms, 4), "peak_bytes": peak}


if __name__ == "__main__":
    sys.exit(main())
