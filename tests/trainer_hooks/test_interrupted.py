"""Ctrl-C in a command: one line, and the end by the signal."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

INTERRUPTED = """
    import os, signal, sys
    from trainer_hooks import cli
    from trainer_hooks.commands import checkpoints

    def interrupted(_):
        print("half of the table")
        os.kill(os.getpid(), signal.SIGINT)

    checkpoints.run_checkpoints = interrupted
    cli.main(["checkpoints", "verify", sys.argv[1]])
"""


def test_command_ends_by_the_signal_when_it_is_interrupted(tmp_path: Path) -> None:
    """A shell's loop ends with it; what was said before is not lost."""
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGINT
    assert ended.stdout == "half of the table\n"
    assert ended.stderr == "reprieve-trainer: interrupted\n"
