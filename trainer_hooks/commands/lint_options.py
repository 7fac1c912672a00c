"""The command line of ``reprieve-trainer lint``; it needs no torch."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

_ABOUT = """\
Read a manifest of Kubernetes or a batch script of Slurm, and name what would go wrong when a node
is taken away: the line, the defect, and the mend. Exit code 1 if there is an error, 0 if there is
only advice, or nothing.
"""


def add_lint(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    lint = commands.add_parser(
        "lint", help="name the defects of a manifest or batch script", description=_ABOUT
    )
    lint.add_argument("file", type=Path, metavar="FILE", help="- is standard input")
    lint.add_argument(
        "--cloud", metavar="NAME", help="eks, karpenter, gke or aks, where FILE does not tell"
    )
    lint.add_argument(
        "--window", type=int, metavar="S", help="seconds from a notice to the end of a node"
    )
    lint.add_argument("--json", action="store_true", help="as a list of objects")
