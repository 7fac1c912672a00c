"""Training frameworks told to stop, in their own ways and in ours: what is left, and at what code.

Each training runs on two ranks, once without a break and then twice for each way: after a step a
SIGTERM goes to one rank, as when one node of several has a notice, or to the launcher, which passes
it on to all. Then the same command is started once more.

  stopped at   steps that each rank had finished: one number is one step for all
  checkpoint   exact: the next start did bit for bit what the unbroken training did; or what else
  code         of the launcher: torchrun's is 1 whatever a rank leaves with
  seconds      from the SIGTERM to the launcher's end

One run each: an example, no statistics. The last line is one JSON object. Exit status 1 when one of
our ways did not stop all ranks at one step, exit with 75, and resume exactly.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lab.frameworks import OURS, TORCHRUN, Seen, Told, Way, stop, straight
from lab.machine import machine
from lab.sizes import parsed

from trainer_hooks import EXIT_PREEMPTED

LAB = Path(__file__).with_name("lab")

WAYS = [
    Way(
        framework="accelerate",
        name="save-state",
        says="save_state on SIGTERM",
        script=LAB / "with_accelerate.py",
        launcher=TORCHRUN,
    ),
    Way(
        framework="accelerate",
        name="trigger",
        says="set_trigger, check_trigger each step, save_state",
        script=LAB / "with_accelerate.py",
        launcher=TORCHRUN,
    ),
    Way(
        framework="accelerate",
        name="ours",
        says="TrainerHooks",
        script=LAB / "with_accelerate.py",
        launcher=OURS,
    ),
    Way(
        framework="lightning",
        name="sigterm",
        says="its own SIGTERM handling, ModelCheckpoint(save_on_exception=True)",
        script=LAB / "with_lightning.py",
        launcher=TORCHRUN,
    ),
    Way(
        framework="lightning",
        name="ours",
        says="TrainerHooksCallback",
        script=LAB / "with_lightning.py",
        launcher=OURS,
    ),
    Way(
        framework="transformers",
        name="jit",
        says="enable_jit_checkpoint",
        script=LAB / "with_transformers.py",
        launcher=TORCHRUN,
    ),
    Way(
        framework="transformers",
        name="ours",
        says="Resumable",
        script=LAB / "with_transformers.py",
        launcher=OURS,
    ),
]
"""A framework more is a script in bench/lab/ and its ways here."""


def main() -> None:
    """Run all, show what was seen, and end the process with 1 where ours fell short."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = sorted({way.framework for way in WAYS})
    parser.add_argument("--only", choices=names, help="one framework")
    parser.add_argument("--ways", nargs="+", metavar="WAY", help="these ways alone")
    arguments = parsed(parser, ways=["ours"])
    chosen = [
        way
        for way in WAYS
        if arguments.only in {None, way.framework}
        and (arguments.ways is None or way.name in arguments.ways)
        and _is_installed(way.framework)
    ]
    if not chosen:
        parser.error("none of these frameworks is installed, or has such ways")
    with tempfile.TemporaryDirectory() as place:
        seen = [one for way in chosen for one in _watched(way, Path(place))]
    print("\n" + table(seen))
    is_missed = any(falls_short(one) for one in seen)
    result = {
        "bench": "frameworks",
        "missed": is_missed,
        "versions": {name: version(name) for name in sorted({way.framework for way in chosen})},
        "seen": [one.to_json() for one in seen],
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if is_missed else 0)


def falls_short(seen: Seen) -> bool:
    """Tell whether a way of ours did less than it promises."""
    is_right = seen.is_together and seen.code == EXIT_PREEMPTED and seen.is_exact
    return seen.way.launcher == OURS and not (is_right and seen.resumed_at)


def table(seen: Sequence[Seen]) -> str:
    """Return what was seen, in Markdown."""
    lines = ["| framework | way | told | stopped at | checkpoint | code | seconds |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for one in seen:
        steps = ", ".join(str(step) for step in sorted(set(one.stopped_at)))
        code = "hung, killed" if one.code is None else str(one.code)
        cells = [one.way.framework, one.way.says, str(one.told), steps, one.checkpoint, code]
        lines.append(f"| {' | '.join(cells)} | {one.seconds:.1f} |")
    return "\n".join(lines)


def _watched(way: Way, place: Path) -> list[Seen]:
    own = place / f"{way.framework}-{way.name}"
    unbroken = straight(way, own / "straight")
    found = []
    for told in Told:
        found.append(stop(way, told, unbroken, own / told.name))
        print(json.dumps(found[-1].to_json()), flush=True)
    return found


def _is_installed(framework: str) -> bool:
    try:
        return bool(version(framework))
    except PackageNotFoundError:
        return False


if __name__ == "__main__":
    main()
