"""``reprieve-trainer report``: what a real run's ledger says."""

import argparse
import json
from pathlib import Path

from trainer_hooks.waste.pictures import picture_path
from trainer_hooks.waste.report import make_report
from trainer_hooks.waste.report_json import report_json
from trainer_hooks.waste.report_text import report_text

HELP = """\
Say where the paid time of a run went, from the ledger that it has kept beside its checkpoints:

  paid = productive + save + rework + restart + waiting + straggler + other

Goodput is the productive part: steps that are in the run's history, each counted once. Rework are
steps that an interruption has undone. A pause, from a person's stop to their next launch, is paid
by nobody and shown apart. It says what each interruption cost, how the checkpoints are,
and what C, D, R and M are (reprieve-trainer plan --help explains these). A run may be under way.

  reprieve-trainer report /shared/run-7 --plot report.html
"""


def add_report_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "report",
        help="where the paid time of a run went, from its ledger",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("directory", metavar="DIR", help="its checkpoint directory, or its URL")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--plot", type=picture_path, metavar="FILE", help="draw it: .png or .html (extra [plot])"
    )


def run_report(options: argparse.Namespace, root: Path) -> str:
    """Return a report, in words or as JSON.

    Args:
        options: What was asked for.
        root: The directory that has the ledger in it.

    Raises:
        ConfigError: There is no ledger, or a picture is asked for and not possible.
        UntrustedFileError: A file of the ledger is none of ours.
    """
    report = make_report(root)
    if options.plot is not None:
        from trainer_hooks.waste.report_plot import plot_report  # noqa: PLC0415 - an extra

        plot_report(options.plot, report)
    return json.dumps(report_json(report), indent=2) if options.json else report_text(report)
