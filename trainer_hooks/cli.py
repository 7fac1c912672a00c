"""``reprieve-trainer``: the command line of the trainer's side. The only place that exits."""

import argparse
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from trainer_hooks.checkpoint.ledger_home import LedgerHome
from trainer_hooks.checkpoint.place import place_of
from trainer_hooks.commands.lint_options import add_lint
from trainer_hooks.commands.manifest_options import add_manifests
from trainer_hooks.commands.options import add_checkpoints
from trainer_hooks.commands.show import show
from trainer_hooks.commands.stop_options import add_stop
from trainer_hooks.commands.store_options import add_store
from trainer_hooks.errors import ConfigError, TrainerHooksError
from trainer_hooks.interrupted import end_interrupted
from trainer_hooks.launch.exit_codes import EXIT_CONFIG, MAX_CRASHES
from trainer_hooks.launch.in_force import wait_while_in_force
from trainer_hooks.launch.report import LaunchReport, nothing_started, write_report
from trainer_hooks.resume_check.command import add_verify_resume, run_verify_resume
from trainer_hooks.signals import ENDING_SIGNALS
from trainer_hooks.untrusted import harmless
from trainer_hooks.waste.flag_types import count, positive
from trainer_hooks.waste.plan_flags import add_plan_command
from trainer_hooks.waste.report_command import add_report_command, run_report

log = logging.getLogger(__name__)

USAGE_ERROR = 2

FAILED = 1
"""A command other than launch could not do its work, or has found damage."""

_LAUNCH = """\
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code, or by the signal that has interrupted it."""
    try:
        sys.exit(run(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        end_interrupted("reprieve-trainer")


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    ours, torchruns = _split(list(arguments))
    try:
        options = _parser().parse_args(ours)
    except SystemExit as exit_:  # argparse says 2, which is no code of ours
        return EXIT_CONFIG if exit_.code == USAGE_ERROR else 0
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    try:
        return _run(options, torchruns)
    except TrainerHooksError as error:
        said = harmless(f"reprieve-trainer: {error}")
        print(said, file=sys.stderr)  # noqa: T201 - a command line speaks
        is_launch = options.command == "launch"
        return EXIT_CONFIG if is_launch or isinstance(error, ConfigError) else FAILED


def _run(options: argparse.Namespace, torchruns: Sequence[str]) -> int:
    if options.command == "launch":
        return _launch(options, torchruns)
    commands = {
        "plan": _plan,
        "report": _report,
        "verify-resume": _verify_resume,
        "manifest": _manifest,
        "lint": _lint,
        "checkpoints": _checkpoints,
        "stop": _stop,
        "store": _store,
    }
    return commands[options.command](options)


def _launch(options: argparse.Namespace, torchruns: Sequence[str]) -> int:
    def finish(report: LaunchReport) -> int:
        if options.report is not None:
            try:
                write_report(report, options.report)
            except OSError as error:  # the exit code is what the scheduler waits for
                log.warning("no report was written: %s", error)
        log.info("exit code %d: %s", report.exit_code, report.reason)
        return report.exit_code

    def leave(report: LaunchReport) -> NoReturn:
        os._exit(finish(report))

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


def _store(options: argparse.Namespace) -> int:
    try:
        from trainer_hooks.launch.store import serve_store  # noqa: PLC0415 - --help needs no torch
    except ModuleNotFoundError as error:
        raise ConfigError(f"store needs PyTorch, the extra [torch] of reprieve: {error}") from error
    host, port = options.listen
    serve_store(host, port, announce=lambda where: show(f"ready listen={where}"))
    return 0


def _plan(options: argparse.Namespace) -> int:
    from trainer_hooks.waste.plan_command import run_plan  # noqa: PLC0415 - --help needs none of it

    if options.ledger is None:
        show(run_plan(options))
        return 0
    with _ledger_of(options.ledger) as path:
        options.ledger = path
        show(run_plan(options))
    return 0


def _report(options: argparse.Namespace) -> int:
    with _ledger_of(options.directory) as path:
        show(run_report(options, path))
    return 0


@contextlib.contextmanager
def _ledger_of(directory: str) -> Iterator[Path]:
    """Yield where a run's ledger can be read: of a bucket a copy, of which nobody has to know."""
    with contextlib.closing(LedgerHome(place_of(directory))) as home:
        try:
            yield home.path
        except ConfigError as error:
            raise ConfigError(str(error).replace(str(home.path), directory)) from error


def _verify_resume(options: argparse.Namespace) -> int:
    code, text = run_verify_resume(options)
    show(text)
    return code


def _checkpoints(options: argparse.Namespace) -> int:
    try:
        from trainer_hooks.commands.checkpoints import run_checkpoints  # noqa: PLC0415 - as above

        return run_checkpoints(options)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"this needs PyTorch and more, the extra [torch] of reprieve: {error}"
        ) from error


def _stop(options: argparse.Namespace) -> int:
    try:
        from trainer_hooks.commands.stopping import stop_run  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        raise ConfigError(f"stop needs the extra [torch] of reprieve: {error}") from error
    return stop_run(options)


def _manifest(options: argparse.Namespace) -> int:
    from trainer_hooks.commands.manifests import print_manifest  # noqa: PLC0415 - launch is quicker

    return print_manifest(options)


def _lint(options: argparse.Namespace) -> int:
    try:
        from trainer_hooks.commands.linting import lint_manifest  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        raise ConfigError(f"lint needs PyYAML, the extra [lint] of reprieve: {error}") from error
    return lint_manifest(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reprieve-trainer", description="Training that survives the loss of its node."
    )
    shown = f"%(prog)s {version('reprieve')}"
    parser.add_argument("--version", action="version", version=shown)
    commands = parser.add_subparsers(dest="command", required=True)
    launch = commands.add_parser(
        "launch",
        help="run a script on this node's ranks, as torchrun does, with honest exit codes",
        description=_LAUNCH,
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
    add_stop(commands)
    add_store(commands)
    add_checkpoints(commands)
    add_manifests(commands)
    add_lint(commands)
    add_plan_command(commands)
    add_report_command(commands)
    add_verify_resume(commands)
    return parser


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split off our own options, which stand before the first that is torchrun's."""
    if arguments[:1] != ["launch"]:
        return arguments, []
    end = 1
    while end < len(arguments):
        name, _, value = arguments[end].partition("=")
        if name not in ("--window", "--max-crashes", "--when-notice", "--report", "--help", "-h"):
            break
        end += 1 if value or name in ("--help", "-h") else 2
    return arguments[:end], arguments[end:]
