"""Plain processes are killed at every call they make: no checkpoint is lost, torn or wrong."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.s3_server import BUCKET, use_server

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).parents[3]


def explore(url: str, *options: str) -> dict[str, Any]:
    """Kill a job at many calls, each time a new one; return what was seen."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.crash_explorer", url, *options],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    print(seen)  # noqa: T201 - counts and seed, for who reads a failure or a slow run
    return seen


def test_newest_checkpoint_is_right_when_a_process_is_killed_at_some_calls(tmp_path: Path) -> None:
    """A rank, the coordinator, or both; and the next start sweeps, saves and goes on."""
    seed = random.SystemRandom().randrange(1_000_000)
    seen = explore(str(tmp_path), "--points=6", f"--seed={seed}")
    assert seen["killed"] == 18


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_newest_checkpoint_is_right_when_a_process_is_killed_at_any_call(tmp_path: Path) -> None:
    """All of them, on a file system; some come before each commit, and some after."""
    seen = explore(str(tmp_path))
    assert seen["killed"] > 400
    for victim in ("rank", "coordinator", "all"):
        assert {"0", "10", "20"} <= set(seen["committed before"][victim])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("flight_s", [0.0, 0.005])
@pytest.mark.parametrize("server", ["weed_endpoint", "rclone_endpoint"])
def test_newest_checkpoint_is_right_when_a_process_is_killed_at_any_request(
    server: str,
    flight_s: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Before it is sent, or while it is on its way; with conditional puts, and without."""
    use_server(monkeypatch, request.getfixturevalue(server))
    seed = random.SystemRandom().randrange(1_000_000)
    url = f"s3://{BUCKET}/{tmp_path.name}"
    seen = explore(url, f"--flight={flight_s}", f"--seed={seed}")
    assert seen["killed"] > 150
