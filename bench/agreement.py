"""How soon all ranks have agreed on what a notice asks for, and what waiting for one costs a step.

Light ranks, each a real StepAgreement with its thread and its own two connections to one real
TCPStore, which a process of its own hosts. They are spread over a few processes, whose main
threads pass the boundaries of all their ranks in turn, as training would. In each round one rank,
another one each time, has advice on its node; a stop is the last round.

  told       from the notice on one rank to the moment the last rank's thread knows the decision
  operations what a rank asks of the Store in a round: the most and the least of any rank

Beside it, what every step costs while nothing happens, in real gloo ranks: see stop_check.py.

The last line is one JSON object. Exit status 1 when a target is missed: at 1,024 ranks the median
round takes more than 0.5 s with its whole 95 % interval, a rank's operations in a round grow with
the number of ranks, or the ranks have not all stopped at one step.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from lab.agreeing import OPERATIONS_LIMIT, RankRound, agree_in_rounds
from lab.intervals import Interval, median_interval
from lab.machine import machine
from lab.sizes import parsed
from stop_check import figures_of, measure, table

SIZES = (64, 256, 1024)
TARGET_S = 0.5
"""At 1,024 ranks on 2 cores (design.md 7)."""

STEP_RANKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What agreeing took in a world of one size."""

    told_s: Interval
    """Median over the rounds, each of which ends with its last rank."""
    worst_s: float
    operations: tuple[int, int]
    """Least and most that a rank asked of the Store in a round: no wait is asked twice."""
    rounds: int
    stop_steps: frozenset[int]

    @property
    def is_missed(self) -> bool:
        """True where ranks have parted, or asked the Store for more than they may."""
        return len(self.stop_steps) != 1 or self.operations[1] > OPERATIONS_LIMIT

    def to_json(self) -> dict[str, object]:
        """Return it for the last line."""
        return {
            "told_s": self.told_s.to_json(),
            "worst_s": round(self.worst_s, 4),
            "operations": list(self.operations),
            "rounds": self.rounds,
            "stop_steps": sorted(self.stop_steps),
        }


def main() -> None:
    """Measure, show the figures, and end the process with 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="a size (%(default)s)")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="(%(default)s)"
    )
    parser.add_argument(
        "--step-rounds", type=int, default=200, metavar="N", help="of the stop check (%(default)s)"
    )
    arguments = parsed(parser, sizes=(64, 1024), rounds=5, step_rounds=50)
    if min(arguments.rounds, arguments.step_rounds, *arguments.sizes) < 1:
        parser.error("every number has to be at least 1")
    figures = {}
    for size in arguments.sizes:
        began = monotonic()
        figures[size] = figure_of(agree_in_rounds(size, arguments.rounds))
        print(line(size, figures[size]), f"   in {monotonic() - began:.0f} s", flush=True)
    a_step = figures_of(measure(STEP_RANKS, arguments.step_rounds))
    print(f"\n{table(STEP_RANKS, a_step)}")
    is_late = any(
        size <= max(SIZES) and one.told_s.is_beyond(TARGET_S) for size, one in figures.items()
    )
    is_missed = is_late or any(figure.is_missed for figure in figures.values())
    result = {
        "bench": "agreement",
        "target": {"ranks": max(SIZES), "told_s": TARGET_S, "operations": OPERATIONS_LIMIT},
        "missed": is_missed,
        "ranks": {str(size): figure.to_json() for size, figure in figures.items()},
        "a_step": {name: figure.to_json() for name, figure in a_step.items()},
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if is_missed else 0)


def figure_of(rounds: Sequence[Sequence[RankRound]]) -> Figure:
    """Return what rounds took, the stop among them, from what each rank says of each."""
    took_s = [max(rank.told_s for rank in ranks) for ranks in rounds]
    asked = [rank.operations for ranks in rounds for rank in ranks]
    return Figure(
        told_s=median_interval(took_s),
        worst_s=max(took_s),
        operations=(min(asked), max(asked)),
        rounds=len(rounds),
        stop_steps=frozenset(rank.stop_step for rank in rounds[-1]),
    )


def line(size: int, figure: Figure) -> str:
    """Return the figures of one world size for people."""
    told = figure.told_s
    least, most = figure.operations
    return (
        f"{size:5} ranks agreed in {told.median:.3f} s ({told.low:.3f} to {told.high:.3f}), "
        f"at worst {figure.worst_s:.3f} s; {least} to {most} operations a rank"
    )


if __name__ == "__main__":
    main()
