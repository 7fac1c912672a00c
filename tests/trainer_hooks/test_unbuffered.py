"""Log lines of a signal handler, in the middle of another one."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.support.launching import wait_until

LOGS = """
    import logging, os, signal
    from trainer_hooks.unbuffered import UnbufferedHandler

    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[UnbufferedHandler()])
    log = logging.getLogger("any")

    def end(number, frame):
        log.info("ending")
        os._exit(75)

    signal.signal(signal.SIGTERM, end)
    log.info("x" * 100000)
"""


def logging_process() -> "subprocess.Popen[str]":
    """Start it; without PYTHONUNBUFFERED, which would do what is tried here."""
    command = [sys.executable, "-c", textwrap.dedent(LOGS)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={})


def test_handler_is_heard_when_it_interrupts_a_line_that_is_being_written() -> None:
    """Nobody reads the log for a while, so the write is under way for as long."""
    with logging_process() as process:
        assert process.stderr is not None
        wait_until(lambda: b"pipe" in Path(f"/proc/{process.pid}/wchan").read_bytes(), "its write")
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait() == 75
    assert said.endswith("ending\n")


def test_line_is_written_whole_when_the_pipe_takes_it_in_pieces() -> None:
    """write(2) may take less than it was given."""
    with logging_process() as process:
        assert process.stderr is not None
        assert process.stderr.read() == "x" * 100000 + "\n"


def test_log_is_no_file_of_ours_when_standard_error_was_closed_at_the_start(tmp_path: Path) -> None:
    """Nor are the ranks', whose standard streams are the launcher's."""
    script, seen = tmp_path / "script.py", tmp_path / "seen"
    script.write_text(
        "import os, pathlib, sys\n"
        "seen = [os.readlink(f'/proc/{os.getppid()}/fd/{number}') for number in range(3)]\n"
        "pathlib.Path(sys.argv[1]).write_text(' '.join(seen))\n"
    )
    launcher = Path(sys.executable).with_name("reprieve-trainer")
    command = f"exec {launcher} launch --nproc-per-node=1 {script} {seen} <&- >&- 2>&-"
    environment = os.environ | {"REPRIEVE_RUN_DIR": str(tmp_path)}
    assert subprocess.run(["sh", "-c", command], env=environment, check=False).returncode == 0
    assert seen.read_text() == "/dev/null /dev/null /dev/null"
