"""The example of a job that goes on with fewer nodes, each on a loopback address of its own."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.example_script import start_example
from tests.support.flags import put_flag
from tests.support.launching import EXECUTABLE, wait_until

pytestmark = [pytest.mark.ranks, pytest.mark.slow, pytest.mark.timeout(900)]


def test_job_goes_on_with_one_node_when_the_other_has_a_notice(tmp_path: Path) -> None:
    """The node leaves with 75; the one that is left ends the run, on the same global batch."""
    command = [str(EXECUTABLE), "store", "--listen", "127.0.0.9:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as store:
        try:
            assert store.stdout is not None
            ready = re.fullmatch(r"ready listen=(\S+)\n", store.stdout.readline())
            assert ready is not None
            job = {"STORE": ready[1], "RUN": "run-7", "NODES": "1:2", "RANKS": "1"}
            job["CHECKPOINTS"] = str(tmp_path / "checkpoints")
            steps = ("--steps", "300", "--min-step-s", "0.1", "--always-stop")
            with (
                start_example(
                    "elastic/node.sh",
                    tmp_path / "one",
                    *steps,
                    environment=job | {"ADDRESS": "127.0.0.1"},
                ) as stays,
                start_example(
                    "elastic/node.sh",
                    tmp_path / "two",
                    *steps,
                    environment=job | {"ADDRESS": "127.0.0.2"},
                ) as goes,
            ):
                logs = ("on 2 ranks", "committed step=50")
                wait_until(
                    lambda: all(any(log in one.output for one in (stays, goes)) for log in logs),
                    "two nodes and a commit",
                    240,
                )
                put_flag(tmp_path / "two" / "run")
                assert goes.wait(240) == 75, goes.output
                assert stays.wait(240) == 0, stays.output
                assert "on 1 ranks" in stays.output
                assert "RESUMED step=" in stays.output
        finally:
            store.kill()
