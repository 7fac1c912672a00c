"""What commands do where nothing can be printed or read: one line and a status, as processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.aws_bodies import DATA

pytestmark = pytest.mark.ranks

SPOT = str(DATA / "imds" / "spot-terminate.json")
SCENARIO = str(Path(__file__).parents[2] / "examples" / "scenarios" / "aws-asg-scale-in.toml")
PRINTING = [
    ("--help",),
    ("--version",),
    ("check-config",),
    ("check-config", "--json"),
    ("explain", "aws-imds-spot", SPOT),
    ("doctor",),
    ("simulate", "aws", f"--check={SCENARIO}"),
    ("simulate", "aws", "--port=0", "--quiet"),
]


def ended(
    argv: tuple[str, ...], redirection: str, stdout: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell does with this redirection."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m watcher "$@" {redirection}', sys.executable, *argv],
        stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true"},
        text=True,
        timeout=50,
        check=False,
        stdout=stdout,
    )


@contextmanager
def pipe_without_a_reader() -> Iterator[int]:
    """Give the end of a pipe that nobody reads any more, as behind ``| head``."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@pytest.mark.parametrize("argv", PRINTING, ids=" ".join)
def test_command_ends_with_one_line_when_the_disk_is_full(argv: tuple[str, ...]) -> None:
    """Not with a traceback, and not as if all were well."""
    done = ended(argv, ">/dev/full")
    assert (done.returncode, done.stderr) == (
        os.EX_CONFIG,
        "reprieve-watcher: standard output: No space left on device\n",
    )


@pytest.mark.parametrize("argv", PRINTING[-3:], ids=" ".join)
def test_command_ends_with_one_line_when_its_reader_has_gone(argv: tuple[str, ...]) -> None:
    """Each is printed by the same hand, so three of them will do."""
    with pipe_without_a_reader() as writer:
        done = ended(argv, "", stdout=writer)
    assert (done.returncode, done.stderr) == (
        os.EX_CONFIG,
        "reprieve-watcher: standard output: Broken pipe\n",
    )


@pytest.mark.parametrize("argv", PRINTING[-3:], ids=" ".join)
def test_command_ends_with_one_line_when_its_output_is_closed(argv: tuple[str, ...]) -> None:
    """It has done nothing of use."""
    done = ended(argv, ">&-")
    expected = (os.EX_CONFIG, "reprieve-watcher: standard output is closed\n")
    assert (done.returncode, done.stderr) == expected


@pytest.mark.parametrize(
    ("redirection", "reason"),
    [("<&-", "standard input is closed"), ("0>/dev/null", "standard input: Bad file descriptor")],
)
def test_explain_ends_with_one_line_when_there_is_no_input(redirection: str, reason: str) -> None:
    """Nothing was read, which is not a body that is refused."""
    done = ended(("explain", "aws-sqs", "-"), redirection)
    assert (done.returncode, done.stderr) == (os.EX_CONFIG, f"reprieve-watcher: {reason}\n")


def test_refusal_keeps_its_status_when_nobody_hears_it() -> None:
    """A closed standard error costs the words alone."""
    assert ended(("explain", "aws-sqs", "/nonexistent"), "2>&-").returncode == os.EX_CONFIG


def test_text_is_escaped_when_the_terminal_lacks_its_letters() -> None:
    """A file's name may be anything, and a setting comes from the file."""
    done = subprocess.run(
        [sys.executable, "-m", "watcher", "check-config"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONIOENCODING": "ascii",
            "REPRIEVE_RUN_DIR": "/\u00fc",
        },
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert "run_dir = " in done.stdout
