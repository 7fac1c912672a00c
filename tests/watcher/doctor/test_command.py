"""`reprieve-watcher doctor` as a user calls it: its lines, its JSON, its exit status."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.watcher_process import simulator_process
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.clouds import SIMULATORS
from watcher.simulator.server import make_app, serving
from watcher.sources import CLOUDS

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run directory as tmpfiles.d makes one."""
    for place in (tmp_path, tmp_path / "trainers", tmp_path / "requests"):
        place.mkdir(exist_ok=True)
        place.chmod(0o755 if place == tmp_path else 0o1777)
    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(tmp_path))
    return tmp_path


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


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_doctor_finds_a_cloud_that_is_out_of_reach_when_it_is_set(
    cloud: str, unused_tcp_port: int
) -> None:
    """Whichever it is: a node that hears nothing is never ok."""
    nobody = f"http://127.0.0.1:{unused_tcp_port}"
    status, printed = await doctor(nobody, f"--metadata-endpoint={nobody}", cloud=cloud)
    assert status == 1
    what = "server" if cloud == "gcp" else "service"
    assert f"wrong   metadata {what} at {nobody}" in printed


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_doctor_has_nothing_to_say_when_a_cloud_is_well(cloud: str) -> None:
    """Each by its simulator, and with a line for each of its notices."""
    app = make_app(SIMULATORS[cloud].scenario({}, ()), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        status, printed = await doctor(url, f"--metadata-endpoint={url}", cloud=cloud)
    assert (status, {line.split()[0] for line in printed.splitlines()}) == (0, {"ok"}), printed
    assert "none is in force" in printed or "none in force" in printed


async def test_doctor_says_what_is_wrong_when_the_run_directory_is_missing(tmp_path: Path) -> None:
    """No flag could be written, however well the cloud is heard."""
    async with simulator_process() as url:
        status, printed = await doctor(url, f"--run-dir={tmp_path / 'none'}")
    assert status == 1
    assert "wrong   run directory" in printed


async def test_doctor_says_that_nothing_is_heard_when_cloud_is_none() -> None:
    """It does not ask to name the cloud: it was named."""
    status, printed = await doctor("http://127.0.0.1:9", cloud="none")
    assert status == 1
    assert "logind.watch" in printed
    assert "name the cloud" not in printed
