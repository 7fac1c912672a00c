"""Real DCP saves of two ranks are killed at their calls: no checkpoint is lost, torn or wrong."""

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

ROOT = Path(__file__).parents[2]
POINTS_OF_EACH = 2
"""Of a rank, the coordinator, and both."""

AT_ONCE = 6
"""Jobs beside each other, where there are 700: one computes for a third of a second, and waits for
two or three."""


@pytest.fixture(params=["file system", "weed_endpoint", "rclone_endpoint"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return where to save: a directory, a bucket with conditional puts, and one without."""
    if request.param == "file system":
        return str(tmp_path)
    use_server(monkeypatch, request.getfixturevalue(request.param))
    return f"s3://{BUCKET}/dcp-{tmp_path.name}"


def explore(url: str, *options: str) -> dict[str, Any]:
    """Kill a job at many calls, each time a new one; return what was seen."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.dcp_crash_explorer", url, *options],
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


@pytest.mark.timeout(600)
def test_newest_checkpoint_loads_when_a_real_save_is_killed_at_some_calls(url: str) -> None:
    """A rank, the coordinator, or both; and the next start resumes, saves and goes on."""
    seed = random.SystemRandom().randrange(1_000_000)
    seen = explore(url, f"--points={POINTS_OF_EACH}", f"--seed={seed}")
    assert seen["killed"] == seen["points"] == 3 * POINTS_OF_EACH


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_newest_checkpoint_loads_when_a_real_save_is_killed_at_any_call(url: str) -> None:
    """All of them; some come before each commit, and some after."""
    seen = explore(url, f"--at-once={AT_ONCE}")
    assert seen["killed"] > 0.9 * seen["points"] > 90
    for victim in ("rank", "coordinator", "all"):
        assert {"0", "10"} <= set(seen["committed before"][victim])
