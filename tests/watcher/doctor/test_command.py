"""`reprieve-watcher doctor` as a user calls it: its lines, its JSON, its exit status."""

import asyncio
import json
import os
import sys

import pytest

from tests.support.watcher_process import simulator_process
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.clouds import SIMULATORS
from watcher.simulator.server import make_app, serving
from watcher.sources import CLOUDS

pytestmark = pytest.mark.e2e


async def doctor(url: str, *options: str, cloud: str = "aws") -> tuple[int | None, str]:
    """Run it, and return its exit status and what it has printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "watcher", "doctor", *options),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "AWS_EC2_METADATA_SERVICE_ENDPOINT": url, "REPRIEVE_CLOUD": cloud},
    )
    printed, _ = await process.communicate()
    return process.returncode, printed.decode()


async def test_doctor_prints_a_line_a_check_when_all_is_well() -> None:
    """Each begins with its verdict, and there is nothing to do."""
    async with simulator_process() as url:
        status, printed = await doctor(url)
        assert (status, {line.split()[0] for line in printed.splitlines()}) == (0, {"ok"})
        status, printed = await doctor(url, "--json")
    document = json.loads(printed)
    assert (status, document["healthy"]) == (0, True)
    assert set(document["findings"][0]) == {"checked", "verdict", "found", "todo"}


async def test_doctor_says_what_to_do_when_something_is_wrong(unused_tcp_port: int) -> None:
    """Status 1, and an arrow before the advice."""
    status, printed = await doctor(f"http://127.0.0.1:{unused_tcp_port}")
    assert status == 1
    assert "-> nothing answers at that address" in printed
    status, printed = await doctor(f"http://127.0.0.1:{unused_tcp_port}", "--json")
    assert (status, json.loads(printed)["healthy"]) == (1, False)


async def test_doctor_checks_the_cloud_that_proves_itself_when_none_is_named(
    unused_tcp_port: int,
) -> None:
    """Its first line says which and why; where none does, what to do is to name it."""
    async with simulator_process() as url:
        status, printed = await doctor(url, cloud="auto")
    assert status == 0
    assert printed.splitlines()[0].startswith("ok      cloud: aws: proved by a token")
    assert "Spot notices" in printed
    status, printed = await doctor(f"http://127.0.0.1:{unused_tcp_port}", cloud="auto")
    assert status == 1
    assert printed.startswith("wrong   cloud: none: no cloud has proved itself (aws: ")
    assert "-> name the cloud" in printed


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_doctor_finds_any_cloud_when_the_command_line_says_where(cloud: str) -> None:
    """One option for every cloud's server; it wins over the address that the environment names."""
    app = make_app(SIMULATORS[cloud].scenario({}, ()), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        asked = f"--metadata-endpoint={url}"
        status, printed = await doctor("http://127.0.0.1:9", "--cloud=auto", asked, cloud="none")
    assert (status, printed.split(maxsplit=3)[:3]) == (0, ["ok", "cloud:", f"{cloud}:"])
