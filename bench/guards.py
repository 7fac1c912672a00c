"""What it costs each training step that guards look for slow ranks.

Real ranks on gloo, 2 and then 4 processes, a model in DDP, the guards' threads and the Store
running. In short alternating blocks:

  step       the guards' calls of a step: at the gate, with the first gradient, and at the end
  reporting  the same where every fourth step is told the other ranks, as it is from 12 ms a step on
  watched    what a look at the wait inside collectives adds to a backward: in one step of 16, and
             in each one on CPU from 10 ms a step on
  a step     a reporting one, and a 16th of a look

Calls follow each other closely, as in the bench of the stop check, which is beside these.

The last line is one JSON object. Exit status 1 when the target is missed: a step takes more than
1.5 us in the median, and the whole 95 % interval of the median lies above that.
"""

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter_ns, sleep
from unittest.mock import patch

import torch
import torch.distributed as dist
from lab.intervals import Interval, median_interval
from lab.machine import machine
from lab.ranks import Ranks
from lab.sizes import parsed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from trainer_hooks import Health, StepAgreement
from trainer_hooks.health import collective_wait, slow_ranks
from trainer_hooks.health.collective_wait import CollectiveWait
from trainer_hooks.health.desk import PICK_UP_S
from trainer_hooks.health.guards import Guards, Watched
from trainer_hooks.health.own_time import WAIT_EVERY_STEPS
from trainer_hooks.recorder import Recorder
from trainer_hooks.roll_back import RollBack
from trainer_hooks.world import World

SIZES = (2, 4)
TARGET_US = 1.5
"""Beside the stop check."""

LOCAL_CALLS = 1000
REPORTED_CALLS = 8
"""The same where ranks report: more reports than the desk takes in one go would be left out."""

BACKWARDS = 20
WARM_UP_ROUNDS = 5

Round = dict[str, float]
"""One rank's figures of one round, in microseconds."""


class Backward:
    """A backward without collectives, of which the wait is looked at or not."""

    def __init__(self) -> None:
        self._model = nn.Linear(4, 4)
        self._wait = CollectiveWait()
        self._is_watched = False
        self._model.bias.register_post_accumulate_grad_hook(self._see)  # type: ignore[no-untyped-call]  # torch has not typed it

    def added_us(self) -> float:
        """Return the microseconds that looking at the wait adds."""
        took_us: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(BACKWARDS):
            for self._is_watched, samples in took_us.items():
                loss = self._model(torch.ones(1, 4)).sum()
                started = perf_counter_ns()
                loss.backward()
                samples.append((perf_counter_ns() - started) / 1000)
        return median(took_us[True]) - median(took_us[False])

    def _see(self, _: object) -> None:
        if self._is_watched:
            self._wait.watch()


def main() -> None:
    """Measure, show the figures, and end the process with 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=300, metavar="N", help="blocks of each (%(default)s)"
    )
    rounds = parsed(parser, rounds=60).rounds
    if rounds < 1:
        parser.error("--rounds has to be at least 1")
    by_size = {size: figures_of(measure(size, rounds)) for size in SIZES}
    is_missed = any(figures["a_step"].is_beyond(TARGET_US) for figures in by_size.values())
    for size, figures in by_size.items():
        print(f"{size} ranks     us, median (95 %)")
        for name, us in figures.items():
            print(f"  {name:11} {us.median:6.2f}  ({us.low:.2f} to {us.high:.2f})")
    result = {
        "bench": "guards",
        "target": {"figure": "a_step", "median_us": TARGET_US},
        "missed": is_missed,
        "ranks": {
            str(size): {name: us.to_json() for name, us in figures.items()}
            for size, figures in by_size.items()
        },
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if is_missed else 0)


def measure(size: int, rounds: int) -> list[list[Round]]:
    """Return the figures of all rounds but those that warm up: by round, by rank."""
    with (
        tempfile.TemporaryDirectory() as root,
        Ranks[Round](size, partial(watch_in_turns, Path(root), WARM_UP_ROUNDS + rounds)) as ranks,
    ):
        return ranks.measured(f"{size} ranks", rounds, warm_up=WARM_UP_ROUNDS)


def watch_in_turns(root: Path, rounds: int, send: Callable[[Round], None]) -> None:
    """Be a rank: time each in turn, and send the figures of each round."""
    logging.getLogger("trainer_hooks").setLevel(logging.ERROR)  # ranks of microseconds are unlike
    world = World.connect()
    agreement = StepAgreement(world, lambda: None)
    agreement.start()
    model = DistributedDataParallel(nn.Linear(4, 4))
    guards = Guards(Health(), RollBack())
    guards.start(Watched(model, world, root, 0, Recorder()))
    see = first_gradient_of(guards, model)
    alone = Backward()
    for number in range(rounds):
        steps = range(number * LOCAL_CALLS, (number + 1) * LOCAL_CALLS)
        stop_us = time_us(lambda step: agreement.reached(step), steps)  # noqa: PLW0108 - called alike
        step = partial(one_step, guards, see)
        with patch.object(collective_wait, "_queue", nothing):  # which works in a backward only
            step_us = time_us(step, steps)
            with patch.object(slow_ranks, "EVERY_S", 0.0):
                reporting_us = time_us(step, steps[:REPORTED_CALLS])
        sleep(2 * PICK_UP_S)  # so that the desk is empty the next time
        watched_us = alone.added_us()
        send(
            {
                "stop_check": stop_us,
                "step": step_us,
                "reporting": reporting_us,
                "watched": watched_us,
                "a_step": max(step_us, reporting_us) + watched_us / WAIT_EVERY_STEPS,
            }
        )
    dist.barrier()
    agreement.close()
    guards.close()
    dist.barrier()  # rank 0 hosts the Store, and the others have just used it


def first_gradient_of(guards: Guards, model: nn.Module) -> Callable[[], object]:
    """Take a step, after which one gradient is looked at, and return what that calls."""
    guards.begin()
    model(torch.ones(1, 4)).sum().backward()
    guards.end(1)
    [(parameter, hooks)] = [
        (parameter, found)
        for parameter in model.parameters()
        if (found := parameter._post_accumulate_grad_hooks)  # noqa: SLF001 - torch has no other way to ask for them
    ]
    [hook] = hooks.values()
    return partial(hook, parameter)


def one_step(guards: Guards, see: Callable[[], object], step: int) -> None:
    """Do what guards do in a step."""
    guards.begin()
    see()
    guards.end(step)


def nothing(_: object) -> None:
    """Do what a loop does that calls nothing of ours."""


def time_us(call: Callable[[int], object], steps: Sequence[int]) -> float:
    """Return the mean microseconds of a call, without the loop around it."""
    took_ns = [min(time_ns(one, steps) for _ in range(3)) for one in (call, nothing)]
    return (took_ns[0] - took_ns[1]) / len(steps) / 1000


def time_ns(call: Callable[[int], object], steps: Sequence[int]) -> int:
    """Return the nanoseconds of all calls."""
    started = perf_counter_ns()
    for step in steps:
        call(step)
    return perf_counter_ns() - started


def figures_of(rounds: Sequence[Sequence[Round]]) -> dict[str, Interval]:
    """Return each figure. A round counts once, with the median of all its ranks."""
    return {
        name: median_interval([median(rank[name] for rank in round_) for round_ in rounds])
        for name in rounds[0][0]
    }


if __name__ == "__main__":
    main()
