"""The command line of ``reprieve-trainer launch``, and its process from the first moment on."""

import argparse
import logging
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from trainer_hooks.errors import ConfigError
from trainer_hooks.launch.exit_codes import MAX_CRASHES
from trainer_hooks.launch.in_force import wait_while_in_force
from trainer_hooks.launch.report import LaunchReport, nothing_started, write_report
from trainer_hooks.signals import ENDING_SIGNALS
from trainer_hooks.waste.flag_types import count, positive

log = logging.getLogger(__name__)

_OWN_OPTIONS = ("--window", "--max-crashes", "--when-notice", "--report", "--help", "-h")

_ABOUT = """\
Run a training script on this node's ranks, as torchrun does, with an exit code that means
something:

  0     done
  75    preempted: start the same command again, elsewhere or later
  76    another node's ranks have gone: start the same command again
  78    the set-up is wrong: somebody has to mend it first
  79    crash after crash and no new checkpoint: somebody has to mend it first
  n     the script's own code, when it has a bug
  128+n a rank died of signal n

While a stop notice is in force on this node nothing is started, and the exit code is 75; until ten
minutes past its deadline, as a node that lives on longer was not taken. With --when-notice=wait it
is waited for the end of that instead, and SIGTERM ends the wait with 75.

  reprieve-trainer launch --nproc-per-node=8 train.py --checkpoint-dir /shared/run-7

Options of launch come first, then torchrun's own (torchrun --help), then the script.
"""


def add_launch(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    launch = commands.add_parser(
        "launch",
        help="run a script on this node's ranks, as torchrun does, with honest exit codes",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="reprieve-trainer launch [launch's options] [torchrun's options] SCRIPT ...",
        allow_abbrev=False,
    )
    launch.add_argument(
        "--window",
        type=positive,
        metavar="S",
        help="seconds from SIGTERM to SIGKILL on this platform: a pod's grace, say. Without it "
        "ranks get 115 s, but count on 30 s only when they decide what to save",
    )
    launch.add_argument(
        "--max-crashes",
        type=count,
        default=MAX_CRASHES,
        metavar="N",
        help="so many crashes in a row, with no new checkpoint in between, end with 79 "
        "(%(default)s); preemptions do not count, however many",
    )
    launch.add_argument(
        "--when-notice",
        choices=("exit", "wait"),
        default="exit",
        help="while a stop notice is in force: exit with 75 at once, for a scheduler that starts "
        "the job elsewhere, or wait for its end, for a unit of this very node (%(default)s)",
    )
    launch.add_argument("--report", type=Path, metavar="FILE", help="write how it ended, as JSON")


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split off our own options, which stand before the first that is torchrun's."""
    if arguments[:1] != ["launch"]:
        return arguments, []
    end = 1
    while end < len(arguments):
        name, _, value = arguments[end].partition("=")
        if name not in _OWN_OPTIONS:
            break
        end += 1 if value or name in ("--help", "-h") else 2
    return arguments[:end], arguments[end:]


def run_launch(options: argparse.Namespace, torchruns: Sequence[str]) -> int:
    """Run a launch to its end and return its exit code; call it from the main thread.

    Raises:
        TrainerHooksError: The set-up is wrong.
    """

    def finish(report: LaunchReport) -> int:
        if options.report is not None:
            try:
                write_report(report, options.report)
            except OSError as error:  # the exit code is what the scheduler waits for
                log.warning("no report was written: %s", error)
        log.info("exit code %d: %s", report.exit_code, report.reason)
        return report.exit_code

    def leave(report: LaunchReport) -> NoReturn:
        try:
            finish(report)
        finally:  # what fails on the way, a handler's error would go to whatever it has interrupted
            os._exit(report.exit_code)

    # From the first moment: the seconds of torch's import are part of the node's last ones too.
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: leave(nothing_started("told to stop")))
    signal.signal(signal.SIGUSR2, lambda *_: None)  # it is for the ranks, and there are none yet
    if options.when_notice == "wait":
        wait_while_in_force()
    try:
        from trainer_hooks.launch.launcher import launch  # noqa: PLC0415 - --help needs no torch
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"launch needs PyTorch, the extra [torch] of reprieve: {error}"
        ) from error

    report = launch(
        torchruns, window_s=options.window, max_crashes=options.max_crashes, leave=leave
    )
    # Python's own end gives handlers back before it is over, and a signal would be the exit code.
    for number in (*ENDING_SIGNALS, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    return finish(report)
