"""The real daemon under schemathesis: every answer is as /openapi.json says, whatever is asked."""

import asyncio
import json
import os
import random
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.described import DESCRIPTION
from tests.support.watcher_process import WatcherProcess, control, daemon_process
from watcher.faces import notice_face, openapi
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

FACES = re.compile(r"ready listen=(http\S+)")
NOTICE = re.compile(r"notice served listen=(http\S+)")


@pytest.fixture
async def watcher(run_dir: Path) -> AsyncIterator[WatcherProcess]:
    """A daemon that has something to show: a notice in force, and a trainer's file that is none."""
    (run_dir / "trainers").mkdir()
    (run_dir / "trainers" / "odd.json").write_text("no JSON")
    async with (
        serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url,
        daemon_process(run_dir, url, "--notice-listen=127.0.0.1:0") as running,
    ):
        await running.answers("/readyz", 200)
        await control(url, "notice", window_s=3600)
        await running.shows("stop")
        yield running


async def tried(where: str, watcher: WatcherProcess, path: Path, *options: str) -> set[str]:
    """Try what a listener serves of the description, and return which paths that was.

    Args:
        where: Its address.
        watcher: The daemon.
        path: An empty directory.
        options: More for schemathesis.
    """
    report = path / "report.json"
    # Its own program, because in this process it would be a plugin of pytest's.
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).parent / "schemathesis",
        *("run", f"{FACES.findall(watcher.log)[-1]}{openapi.PATH}", f"--url={where}"),
        *("--checks=all", "--phases=examples,coverage,fuzzing", "--request-timeout=60"),
        *("--generation-database=none", "--report=json", f"--report-json-path={report}"),
        *("--continue-on-failure", "--no-color", *options),
        cwd=path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return {name.removeprefix("GET ") for name in json.loads(report.read_text())["valid_rates"]}


async def all_tested(watcher: WatcherProcess, path: Path, *options: str) -> None:
    """Try both listeners, and see that everything was tried and the daemon is well."""
    await eventually(lambda: NOTICE.search(watcher.log))
    faces, notice = (found.findall(watcher.log)[-1] for found in (FACES, NOTICE))
    others = await tried(faces, watcher, path, f"--exclude-path={notice_face.PATH}", *options)
    told = await tried(notice, watcher, path, f"--include-path={notice_face.PATH}", *options)
    # It takes the description's own address for what it is, and leaves that out.
    assert others | told | {openapi.PATH} == set(DESCRIPTION["paths"])
    assert (await watcher.ask("/healthz"))[0] == 200
    assert "Traceback" not in watcher.log


async def test_faces_answer_as_described_when_schemathesis_asks(
    watcher: WatcherProcess, tmp_path: Path
) -> None:
    """Good and bad requests, the same ones at every run."""
    await all_tested(watcher, tmp_path, "--seed=1", "-n", "20")


@pytest.mark.slow
async def test_faces_answer_as_described_when_schemathesis_asks_a_thousand_times(
    watcher: WatcherProcess, tmp_path: Path
) -> None:
    """Others at every run; REPRIEVE_SEED brings them back."""
    seed = int(os.environ.get("REPRIEVE_SEED", random.randrange(2**32)))  # noqa: S311 - no secret
    print(f"REPRIEVE_SEED={seed}")  # noqa: T201 - shown where the test fails
    await all_tested(watcher, tmp_path, f"--seed={seed}", "-n", "1000")
