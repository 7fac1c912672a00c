"""How long ``reprieve-trainer plan`` takes to play runs at random.

The program as users start it: a million productive GPU-hours on 64 nodes of 8 GPUs, 10,000 runs, on
one core. Beside it the plan without any run, which is what everybody waits for who only wants the
interval.

The last line is one JSON object. Exit status 1 when the target is missed: more than 10 s.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from lab.machine import machine
from lab.sizes import parsed

RUNS = 10_000
GPU_HOURS = 1_000_000
TARGET_S = 10.0
"""The longest that somebody at a terminal should wait."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parsed(parser, arguments)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, for what it starts too
    bare_s, _ = timed(0)
    played_s, plan = timed(options.runs)
    chance = plan["monte_carlo"]
    print(f"plan alone {bare_s:.2f} s; with {options.runs:,} runs {played_s:.2f} s")
    print(f"slowdown {plan['slowdown']:.6f}, played {chance['slowdown']['mean']:.6f}")
    result = {
        "bench": "plan",
        "machine": machine(),
        "target": {"played_s": TARGET_S, "runs": RUNS},
        "runs": options.runs,
        "productive_gpu_hours": GPU_HOURS,
        "plan_s": round(bare_s, 3),
        "played_s": round(played_s, 3),
        "slowdown": {"exact": plan["slowdown"], "played": chance["slowdown"]},
        "missed": played_s > TARGET_S,
    }
    print(json.dumps(result))
    return 1 if result["missed"] else 0


def timed(runs: int) -> tuple[float, Any]:
    """Run the program; return the seconds it took and its plan."""
    command = [
        *(sys.executable, "-c", "from trainer_hooks.cli import main; main()", "plan", "--json"),
        *("--nodes", "64", "--node-mtbi-hours", "40", "--stall", "8", "--restart", "300"),
        *("--productive-gpu-hours", str(GPU_HOURS), "--runs", str(runs)),
    ]
    began_s = perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own program
    return perf_counter() - began_s, json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
