"""See a training job survive the loss of its node: on this machine, in about a minute.

All of it is real but the cloud. A simulator of EC2's metadata service announces that the instance
will be taken in 120 s. reprieve-watcher hears it and writes the flag file. Two ranks of
examples/train_gpt.py, under reprieve-trainer launch, agree on a step to stop at, save it, commit
it, and leave with exit code 75. A new node comes up, the same command line is started again, and
the run goes on to its end, with no step done twice.

Beside it runs an unbroken job with the same seed. The two are compared step by step, on every
rank: sample ids, learning rates and losses, bitwise.

The last line says SURVIVED (exit status 0), or LOST and why (exit status 1). With --json, what a
program wants is on stdout and what people want on stderr.
"""

import argparse
import fcntl
import json
import shutil
import signal
import sys
import traceback
from pathlib import Path
from typing import BinaryIO

from rehearsal.account import Account
from rehearsal.display import Display
from rehearsal.job import SAVE_EVERY
from rehearsal.story import Story
from rich.console import Console

from trainer_hooks.resume_check.stage import Failed, Stage

WINDOW_S = 120
"""What AWS Spot announces (cloud-contract 0, 2026-11-30)."""

LEAST_STEPS = 4 * SAVE_EVERY
"""The notice comes after a third: a checkpoint is there, and enough is left to be resumed."""

MARK = ".reprieve-demo"
"""A directory with this file in it is a demo's and may be emptied, unless the file is locked."""

TAIL_LINES = 15


def main() -> None:
    """Play the demo and end the process with its exit status."""
    options = parse_options()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # what runs is ended, as by Ctrl-C
    console = Console(stderr=options.json, highlight=False, markup=False, soft_wrap=True)
    account = Account(window_s=WINDOW_S, steps=options.steps)
    try:
        lock = claim(options.out)
    except Failed as error:
        sys.exit(f"LOST {error}")
    with lock:
        play(options.out, account, console)
    console.print()
    for line in account.lines():
        console.print(line)
    console.print(f"\nlogs, reports and checkpoints are in {options.out}/\n")
    if options.json:
        print(json.dumps(account.to_json(), indent=2), flush=True)
    is_lost = account.lost_because() is not None
    console.print(account.last_line(), style="bold red" if is_lost else "bold green")
    sys.exit(1 if is_lost else 0)


def play(out: Path, account: Account, console: Console) -> None:
    """Play the demo into ``account``; whatever it has started has ended when this returns."""
    display = Display(console, account.steps)
    try:
        with display, Stage(display.tick) as stage:
            try:
                Story(stage, display, account, out).play()
            finally:
                display.phase("whatever still runs is ended")
    except Failed as error:
        account.failure = str(error)
        show_tail(error.log, console)
    except KeyboardInterrupt:
        account.failure = "the demo was interrupted"
    except Exception as error:  # noqa: BLE001 - a bug here gets a last line and an exit status too
        console.print(traceback.format_exc())
        account.failure = f"the demo itself has a bug: {error!r}"


def claim(out: Path) -> BinaryIO:
    """Make the output directory, or empty that of an earlier demo.

    Returns:
        The lock that keeps other demos out until it is closed.

    Raises:
        Failed: It holds something else, another demo runs in it, or it can't be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()) and not (out / MARK).exists():
            raise Failed(f"{out} holds files that are not the demo's; choose another with --out")
        lock = (out / MARK).open("ab")
        take(lock, out)
        for entry in out.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != MARK:
                entry.unlink()
    except OSError as error:
        raise Failed(f"{out} can't be used: {error.strerror}") from error
    return lock


def take(lock: BinaryIO, out: Path) -> None:
    """Lock a file, or close it if another demo holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise Failed(f"another demo runs in {out}; wait for it, or choose another --out") from error


def show_tail(log: Path | None, console: Console) -> None:
    """Show the end of the log of the part that has failed."""
    if log is not None:
        console.print(f"\nthe end of {log}:", style="bold")
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        console.print("\n".join(lines[-TAIL_LINES:]))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--steps", type=int, default=90, metavar="N", help="length of a run (%(default)s)")
    add("--out", type=Path, default=Path("demo-out"), metavar="DIR", help="(%(default)s)")
    add("--json", action="store_true", help="print the timeline as JSON on stdout")
    options = parser.parse_args()
    if options.steps < LEAST_STEPS:
        parser.error(f"--steps has to be at least {LEAST_STEPS}, or nothing is left to resume")
    return options


if __name__ == "__main__":
    main()
