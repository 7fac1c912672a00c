"""``reprieve-trainer verify-resume``: does this job resume as if nothing had happened?"""

import argparse
import contextlib
import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trainer_hooks.errors import ConfigError
from trainer_hooks.resume_check.plan import By, Plan
from trainer_hooks.resume_check.stage import Failed
from trainer_hooks.resume_check.text import verdict_text
from trainer_hooks.resume_check.trial import Trial
from trainer_hooks.waste.flag_types import positive
from trainer_hooks.waste.progress import ProgressBar

SAME, DIFFERS = 0, 1
INTERRUPTED = 128 + signal.SIGINT

TAIL_LINES = 15

HELP = """\
Run a training command to its end, run it again with interruptions, and compare the two step by
step: sample ids, learning rates, losses, random numbers, and a digest of the whole state.

  reprieve-trainer verify-resume -- reprieve-trainer launch --nproc-per-node=2 \\
      train.py --checkpoint-dir {dir} --steps 60 --save-every 10

{dir} stands for a directory of each run's own. The script trains in a loop over hooks.steps, and
may tell its losses with hooks.note_loss(loss). Make the run short: a few saves are enough, and one
has to be committed before each interruption, which waits for it.

At another number of ranks after each interruption, with the same global batch:

  reprieve-trainer verify-resume --set n=2,1,2 --set batch=8,16,8 --tolerance 0.05 -- \\
      reprieve-trainer launch --nproc-per-node={n} train.py --checkpoint-dir {dir} \\
      --batch-size {batch}

If they differ, it says in which step first, and what usually is behind it; and it runs the command
without a break once more, to see whether it repeats itself at all.

Exit codes: 0 the same, 1 different or a run failed, 78 the command line makes no sense.
"""


def add_verify_resume(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "verify-resume",
        help="see whether an interrupted run does what an unbroken one does",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="reprieve-trainer verify-resume [options] -- COMMAND ...",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--at",
        type=int,
        nargs="+",
        default=[],
        metavar="STEP",
        help="interrupt after so many steps (default: at a third and at two thirds)",
    )
    add("--times", type=int, default=2, metavar="N", help="interrupt so often (%(default)s)")
    add(
        "--by",
        type=By,
        choices=list(By),
        default=By.KILL,
        help="kill: SIGKILL to all processes; stop: SIGTERM, and exit 75 is expected (%(default)s)",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=A,B,C",
        help="what {NAME} stands for in each start; the unbroken run has the first",
    )
    add(
        "--tolerance",
        type=positive,
        metavar="X",
        help="relative difference of losses that is none; random numbers and the state's digest "
        "are not compared then (default: every bit counts)",
    )
    add("--limit", type=positive, default=600.0, metavar="S", help="for each start (%(default)g)")
    add("--out", type=Path, metavar="DIR", help="logs and checkpoints stay here (default: /tmp)")
    add("--json", action="store_true", help="for programs")
    add("command_line", nargs="+", metavar="COMMAND", help="what is run, after --")


def run_verify_resume(options: argparse.Namespace) -> tuple[int, str]:
    """Check a command; return the exit code, and the verdict in words or as JSON.

    Raises:
        ConfigError: The command line makes no sense.
    """
    plan = _plan(options)
    bars: dict[str, ProgressBar] = {}

    def tell(what: str, done: float) -> None:
        if what not in bars:
            print(f"running: {what}", file=sys.stderr)  # noqa: T201 - a command line speaks
            bars[what] = ProgressBar(what)
        bars[what](done)

    try:
        with _ended_as_by_ctrl_c():
            verdict = Trial(plan, tell).play()
    except KeyboardInterrupt:
        return INTERRUPTED, "interrupted, and nothing of it runs any more"
    except Failed as error:
        return DIFFERS, _failure(error, as_json=options.json)
    except OSError as error:
        raise ConfigError(f"the command cannot be run in {plan.out}: {error}") from error
    print(f"logs and checkpoints are in {plan.out}", file=sys.stderr)  # noqa: T201 - as above
    text = json.dumps(verdict.to_json(), indent=2) if options.json else verdict_text(verdict)
    return (SAME if verdict.difference is None else DIFFERS), text


@contextlib.contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Let what else would end this process end what it runs first."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _plan(options: argparse.Namespace) -> Plan:
    if options.times < 1:
        raise ConfigError("--times counts interruptions, from 1 on")
    values = {}
    for text in options.set:
        name, equals, rest = text.partition("=")
        if not name or not equals:
            raise ConfigError(f"--set wants NAME=A,B,C, not {text!r}")
        values[name] = rest.split(",")
    plan = Plan(
        command=options.command_line,
        out=options.out or Path(tempfile.mkdtemp(prefix="reprieve-verify-resume-")),
        at=options.at,
        times=options.times,
        values=values,
        by=options.by,
        tolerance=options.tolerance,
        limit_s=options.limit,
    )
    plan.check()
    return plan


def _failure(error: Failed, *, as_json: bool) -> str:
    if as_json:
        return json.dumps({"same": None, "failure": str(error)}, indent=2)
    tail = ""
    if error.log is not None:
        lines = error.log.read_text(encoding="utf-8", errors="replace").splitlines()
        tail = "\n".join([f"the end of {error.log}:", *lines[-TAIL_LINES:], ""])
    return f"{tail}FAILED {error}"
