"""The command line of ``reprieve-trainer stop``; it needs nothing that is not installed."""

import argparse

from trainer_hooks.waste.flag_types import positive

WAIT_S = 90.0
"""NFS may show the request a minute late (nfs(5), acdirmax, read 2026-11-30)."""

_ABOUT = """\
Stop the run that is under way, as a notice would: all ranks stop at one step, save it, and every
launcher of the job exits with 75. No node is asked: it works from any machine that sees DIR, which
is what the job calls checkpoint_dir, a path or the URL of a bucket.

  reprieve-trainer stop /shared/run-7 --reason "the GPUs are needed for run-8"

The command waits until the run has heard, which takes seconds, on NFS up to a minute. It does not
wait for the last save: the exit of the launchers says that this is done. A run can be asked once
its log says RESUMED or FRESH START; one whose ranks still import is not known yet, and SIGTERM to
its launchers ends it.

Only the present start of the job is stopped. launch does not start again what was stopped so; a
scheduler that starts again whatever exits with 75 does, so take the job from it first: delete the
JobSet, scancel, systemctl disable.

  0   the run has heard, and stops
  1   no run is there, it has ended already, or none has heard in time, and is asked no more
  78  DIR is no directory
"""


def add_stop(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    parser = commands.add_parser(
        "stop",
        help="stop the run that is under way, at one step and saved",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--reason", default="", metavar="TEXT", help="for people, in the run's log")
    parser.add_argument(
        "--wait",
        type=positive,
        default=WAIT_S,
        metavar="S",
        help="how long to wait until the run has heard (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
