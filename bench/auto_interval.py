"""Whether a run that chooses its own interval wastes little more than it would at the best one.

First for real: two gloo ranks train a small model with ``save_every="auto"``, and are killed with
SIGKILL a few times, at random. Their ledger says C, D, R and M, and one start more chooses by it.

Then in virtual time: a stand-in with the same C, D and R lives through thousands of interruptions,
as far apart in the mean as the real ones were drawn to be, once at each of a row of intervals and
once at the chosen one. So what the choice costs includes that M was learnt from a few. Beside the
ratio of the wastes stands that without restarts, which no interval changes.

The last line is one JSON object. Exit status 1 when the target is missed: the waste is more than
1.10 times the least of the row.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from lab.intervals import SEED
from lab.machine import machine
from lab.ranks import Ranks
from lab.sizes import parsed
from lab.stand_in import Life, live, waste_ratio, without_restarts
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from trainer_hooks import TrainerHooks, TrainState, latest_committed
from trainer_hooks.checkpoint.latest import Checkpoint
from trainer_hooks.waste.account import timeline
from trainer_hooks.waste.choice import choose
from trainer_hooks.waste.history import history
from trainer_hooks.waste.interval import Costs, exact_s
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.past import usual_step_s

RANKS = 2
TARGET = 1.10
WIDTH = 1500
"""Of the model: a checkpoint of 27 MB, so that a save takes a noticeable time."""

ROW = [2.0 ** (quarter / 4) for quarter in range(-12, 13)]
"""The intervals that are tried, from an eighth to eight times the best one by the formula."""

CHOICE_LIMIT_S = 120.0
"""Longest wait for the last start's first save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What the real run has come to."""

    costs: Costs
    """As its ledger has them."""
    step_s: float
    steps: int
    """The interval in force after the last start's first save."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--interruptions", type=int, default=5, help="real ones (%(default)s)")
    parser.add_argument("--mtbi-s", type=float, default=15.0, help="in the mean (%(default)s)")
    parser.add_argument("--virtual", type=int, default=5000, help="virtual ones (%(default)s)")
    options = parsed(parser, arguments, interruptions=3, mtbi_s=8.0, virtual=1000)
    logging.disable(logging.WARNING)  # that it is interrupted is no news here
    draw = np.random.default_rng(SEED).exponential
    gaps_s = [float(gap_s) for gap_s in draw(options.mtbi_s, options.interruptions)]
    with tempfile.TemporaryDirectory() as directory:
        os.environ["REPRIEVE_RUN_DIR"] = directory  # where no watcher tells of anything
        chosen = be_interrupted(Path(directory) / "run", gaps_s)
    runs_s = [float(run_s) for run_s in draw(options.mtbi_s, options.virtual)]
    result = compare(chosen, options.mtbi_s, runs_s)
    print(json.dumps({"bench": "auto_interval", "machine": machine(), **result}))
    return 1 if result["missed"] else 0


def be_interrupted(root: Path, gaps_s: Sequence[float]) -> Chosen:
    """Train for real, be killed each time after so much training, and let the run choose."""
    for number, gap_s in enumerate(gaps_s, 1):
        print(f"interruption {number} of {len(gaps_s)}: after {gap_s:.1f} s", flush=True)
        with Ranks[None](RANKS, partial(train, root)) as ranks:
            next(ranks.rounds(1))
            time.sleep(gap_s)
            ranks.kill()
    with Ranks[None](RANKS, partial(train, root)) as ranks:
        next(ranks.rounds(1))
        last = first_of_attempt(root, len(gaps_s) + 1)
        ranks.kill()
    attempts = read_ledger(root)
    return Chosen(
        costs=history(attempts, timeline(attempts)).costs(),
        step_s=usual_step_s(attempts) or 0.0,
        steps=last.marker.save_every_steps,
    )


def first_of_attempt(root: Path, attempt: int) -> Checkpoint:
    """Wait for the first checkpoint that an attempt commits, and until its ledger has it.

    Raises:
        RuntimeError: It takes too long.
    """
    end_s = time.monotonic() + CHOICE_LIMIT_S
    while time.monotonic() < end_s:
        newest = latest_committed(root)
        is_its_own = newest is not None and newest.marker.name.attempt.number == attempt
        if newest is not None and is_its_own and read_ledger(root)[-1].commits:
            return newest  # the ledger, where D is taken from, has it a moment after the marker
        time.sleep(0.05)
    raise RuntimeError(f"attempt {attempt} has committed nothing within {CHOICE_LIMIT_S:.0f} s")


def train(root: Path, send: Callable[[None], None]) -> None:
    """Be a rank: train until killed, and say when the first step begins."""
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)))
    optimizer = torch.optim.AdamW(model.parameters())
    state = TrainState(model=model, optimizer=optimizer, scheduler=None, scaler=None, data=None)
    inputs = torch.rand(8, WIDTH)
    has_begun = False
    with TrainerHooks(state, checkpoint_dir=root, save_every="auto", keep=2) as hooks:
        for _ in hooks.steps(until=1_000_000_000):
            if not has_begun:
                send(None)
                has_begun = True
            model(inputs).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


def compare(chosen: Chosen, mtbi_s: float, runs_s: Sequence[float]) -> dict[str, object]:
    """Live through the same interruptions at each interval, and print what was wasted."""
    costs = replace(chosen.costs, mtbi_s=mtbi_s)
    lives: dict[int, Life] = {}
    for factor in ROW:
        steps = max(1, round(factor * exact_s(costs) / chosen.step_s))
        lives[steps] = live(runs_s, steps * chosen.step_s, costs)
    best = min(lives, key=lambda steps: lives[steps].waste)
    own = live(runs_s, chosen.steps * chosen.step_s, costs)
    ratio = waste_ratio(own, lives[best])
    rules = choose(chosen.costs)
    for steps, life in sorted({**lives, chosen.steps: own}.items()):
        mark = {chosen.steps: "  chosen", best: "  best of the row"}.get(steps, "")
        print(f"  {steps:6d} steps {steps * chosen.step_s:8.2f} s  waste {life.waste:7.2%}{mark}")
    bare = waste_ratio(*(without_restarts(life, costs) for life in (own, lives[best])))
    print(f"ratio {ratio.median:.3f} ({ratio.low:.3f} to {ratio.high:.3f}), ", end="")
    print(f"without restarts {bare.median:.3f} ({bare.low:.3f} to {bare.high:.3f})")
    return {
        "target": {"waste_ratio": TARGET},
        "missed": ratio.median > TARGET,
        "waste_ratio": {"value": round(ratio.median, 4), "ci95": [ratio.low, ratio.high]},
        "without_restarts": {"value": round(bare.median, 4), "ci95": [bare.low, bare.high]},
        "waste": {"chosen": own.waste, "best": lives[best].waste},
        "steps": {"chosen": chosen.steps, "best": best},
        "step_s": chosen.step_s,
        "measured": {
            "C": costs.stall_s,
            "D": costs.commit_lag_s,
            "R": costs.restart_s,
            "M": chosen.costs.mtbi_s,
        },
        "mtbi_s": mtbi_s,
        "by_rule_s": {"young": rules.young_s, "daly": rules.daly_s, "exact": rules.exact_s},
        "virtual_interruptions": len(runs_s),
    }


if __name__ == "__main__":
    sys.exit(main())
