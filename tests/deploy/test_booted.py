"""The machines that other tests boot: none of them outlives its test."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.booted import ROOT, machine, require_nspawn
from tests.support.waiting import wait_until

BOOT = """
import sys
from pathlib import Path
from tests.support.booted import machine
with machine(Path(sys.argv[1])) as booted:
    booted.boot()
    print(booted.leader, flush=True)
    sys.stdin.read()
"""


def is_there(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_machine_is_gone_when_its_test_is_over(tmp_path: Path) -> None:
    """With all that ran in it."""
    with machine(tmp_path) as booted:
        booted.boot()
        leader = booted.leader
        assert is_there(leader)
    wait_until(lambda: not is_there(leader), 10)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_machine_is_gone_when_its_test_was_killed(tmp_path: Path, how: int) -> None:
    """As a time limit around all tests does it; what it had mounted stays, and is empty memory."""
    require_nspawn()
    command = [sys.executable, "-c", BOOT, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as test:
        assert test.stdout is not None
        leader = int(test.stdout.readline())
        os.kill(test.pid, how)
    wait_until(lambda: not is_there(leader), 60)
    for mounted in ("machine/root", "disk"):
        subprocess.run(["umount", "--lazy", tmp_path / mounted], check=True)
