"""The command line of ``reprieve-trainer checkpoints``; it needs nothing that is not installed."""

import argparse
from pathlib import Path

_ABOUT = """\
Look at the checkpoints of a run, and say which of them count. DIR is what the job calls
checkpoint_dir, a path or the URL of a bucket; NAME is a save's name or its step, as ls shows it.
"""


def add_checkpoints(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command and its own commands to a parser's."""
    group = commands.add_parser(
        "checkpoints", help="list, verify, pin, roll back, delete and export checkpoints"
    )
    group.description = _ABOUT
    own = group.add_subparsers(dest="act", required=True)

    listed = _add(own, "ls", "show every save, and what it is worth")
    listed.add_argument("--json", action="store_true", help="as a list of objects")

    verified = _add(own, "verify", "see whether checkpoints are good")
    verified.add_argument("names", metavar="NAME", nargs="*", help="by default all")
    verified.add_argument(
        "--newest", action="store_true", help="only the checkpoint that a run would resume from"
    )
    verified.add_argument(
        "--deep",
        action="store_true",
        help="compare the digest of every byte, and load everything once in this process, "
        "whatever the number of ranks was",
    )
    verified.add_argument("--json", action="store_true", help="as a list of objects")

    back = _add(own, "rollback", "forget everything from a step on")
    back.description = (
        "Put every checkpoint from a step on in quarantine, so that the job resumes before it. A "
        "run that is still on its way can commit nothing more, and ends at its next save."
    )
    back.add_argument("--before-step", type=_count, required=True, metavar="STEP")
    back.add_argument("--reason", metavar="TEXT", help="for people")

    for name, what in (
        ("quarantine", "never resume from a checkpoint, and keep its data"),
        ("pin", "never delete a checkpoint"),
    ):
        marked = _add(own, name, what)
        marked.add_argument("names", metavar="NAME", nargs="+")
        marked.add_argument("--reason", metavar="TEXT", default="by hand", help="for people")
        marked.add_argument("--undo", action="store_true", help="take it back")

    _add_gc(own)

    exported = _add(own, "export", "write the weights alone, as safetensors")
    exported.add_argument("name", metavar="NAME", nargs="?", help="by default the newest")
    exported.add_argument("--to", type=Path, required=True, metavar="FILE")


def _add_gc(own: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    gc = _add(own, "gc", "delete old checkpoints, and what crashes have left")
    gc.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
    gc.add_argument(
        "--keep-last", type=_count, default=3, metavar="K", help="the newest ones (default 3)"
    )
    for rule in ("hourly", "daily"):
        gc.add_argument(
            f"--{rule}",
            type=_count,
            default=0,
            metavar="N",
            help=f"and the last one of each of N {'hours' if rule == 'hourly' else 'days'}",
        )


def _add(
    own: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, what: str
) -> argparse.ArgumentParser:
    parser = own.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
    parser.add_argument("directory", metavar="DIR")
    return parser


def _count(text: str) -> int:
    """Read a number of steps or checkpoints; what is none is argparse's to complain of."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(text)
    return int(text)
