"""The simulator on EC2's own addresses, in a network namespace: nothing has to be pointed at it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

ADDRESSES = {"169.254.169.254": "169.254.169.254/32", "[fd00:ec2::254]": "fd00:ec2::254/128"}
"""What EC2 answers on, and how it is given to an interface (EC2 user guide, 2026-11-30)."""

SPOT = Path(__file__).parents[3] / "examples" / "scenarios" / "aws-spot-two-minutes.toml"


@pytest.fixture
def namespace() -> Iterator[str]:
    """Make a namespace with both addresses on its loopback."""
    name = f"reprieve-test-{os.getpid()}"
    try:
        subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True, timeout=20)
    except FileNotFoundError:
        pytest.skip("this machine has no ip command")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no right to make a network namespace: {error.stderr.decode().strip()}")
    try:
        for command in ("link set lo up", *(f"address add {a} dev lo" for a in ADDRESSES.values())):
            subprocess.run(["ip", "-n", name, *command.split()], check=True, timeout=20)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True, timeout=20)


@contextmanager
def inside(namespace: str, log: Path, *arguments: str, **variables: str) -> Iterator[None]:
    """Run one of the watcher's commands in the namespace for the length of the block."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, "-m", "watcher", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=kept | variables,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            assert process.wait(timeout=20) == 0, log.read_text()
        finally:
            process.kill()


@pytest.mark.e2e
@pytest.mark.parametrize("host", ADDRESSES)
def test_watcher_hears_the_notice_when_the_simulator_has_the_clouds_address(
    host: str, namespace: str, tmp_path: Path
) -> None:
    """Over IPv4 without a word about the endpoint; over IPv6 with the variable of the SDKs."""
    log = tmp_path / "simulator.log"
    scenario = tmp_path / "now.toml"
    scenario.write_text(SPOT.read_text().replace("at_s = 10", "at_s = 0"))
    simulate = (
        "simulate",
        "aws",
        "--host",
        host.strip("[]"),
        "--port=80",
        f"--scenario={scenario}",
    )
    run = ("run", f"--run-dir={tmp_path}", "--cloud=aws", "--listen=127.0.0.1:0")
    six = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{host}"} if "[" in host else {}
    with inside(namespace, log, *simulate):
        wait_until(lambda: f"listening on http://{host}:80" in log.read_text())
        with inside(namespace, tmp_path / "watcher.log", *run, **six):
            wait_until((tmp_path / "notice.json").exists)
            notice = json.loads((tmp_path / "notice.json").read_text())
    assert (notice["urgency"], notice["action"]) == ("stop", "terminate")
