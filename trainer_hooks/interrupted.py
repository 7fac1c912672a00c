"""The end of a command that somebody has interrupted."""

import signal
import sys


def end_interrupted(program: str) -> None:
    """Say so in one line, and end by the signal: an exit code would let a shell's loop go on."""
    print(f"{program}: interrupted", file=sys.stderr)  # noqa: T201 - a command line speaks
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
