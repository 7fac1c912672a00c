"""``reprieve-trainer``: the command line of the trainer's side."""

import argparse
import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

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
from trainer_hooks.launch.command import add_launch, run_launch, split
from trainer_hooks.launch.exit_codes import EXIT_CONFIG
from trainer_hooks.resume_check.command import add_verify_resume, run_verify_resume
from trainer_hooks.unbuffered import UnbufferedHandler, occupy_standard_descriptors
from trainer_hooks.untrusted import harmless
from trainer_hooks.waste.plan_flags import add_plan_command
from trainer_hooks.waste.report_command import add_report_command, run_report

USAGE_ERROR = 2

FAILED = 1
"""A command other than launch could not do its work, or has found damage."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code, or by the signal that has interrupted it."""
    occupy_standard_descriptors()
    try:
        sys.exit(run(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        end_interrupted("reprieve-trainer")


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    ours, torchruns = split(list(arguments))
    try:
        options = _parser().parse_args(ours)
    except SystemExit as exit_:  # argparse says 2, which is no code of ours
        return EXIT_CONFIG if exit_.code == USAGE_ERROR else 0
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(name)s %(message)s",
        handlers=[UnbufferedHandler()],
    )
    try:
        return _run(options, torchruns)
    except TrainerHooksError as error:
        said = harmless(f"reprieve-trainer: {error}")
        print(said, file=sys.stderr)  # noqa: T201 - a command line speaks
        is_launch = options.command == "launch"
        return EXIT_CONFIG if is_launch or isinstance(error, ConfigError) else FAILED


def _run(options: argparse.Namespace, torchruns: Sequence[str]) -> int:
    if options.command == "launch":
        return run_launch(options, torchruns)
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
    add_launch(commands)
    add_stop(commands)
    add_store(commands)
    add_checkpoints(commands)
    add_manifests(commands)
    add_lint(commands)
    add_plan_command(commands)
    add_report_command(commands)
    add_verify_resume(commands)
    return parser
