"""`reprieve-watcher drill` as a user calls it, with jobs of a few lines that speak the contract."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

JOB = """\
import json, os, sys, time
from pathlib import Path

kept, how = Path(sys.argv[1]), sys.argv[2]
run = Path(os.environ["REPRIEVE_RUN_DIR"])
assert os.environ["REPRIEVE_IN_DRILL"] == "1"  # or its ledger would have an interruption
boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
step = committed = int(kept.read_text()) if kept.exists() and how != "forgets" else 0

def tell(state):
    said = {"schema": 1, "boot_id": boot, "pod_uid": None, "state": state, "step": step,
            "heartbeat_boottime_s": time.clock_gettime(time.CLOCK_BOOTTIME),
            "committed_step": committed or None, "stop_step": None}
    (run / "trainers" / "draft").write_text(json.dumps(said))
    (run / "trainers" / "draft").rename(run / "trainers" / "job.json")

while True:
    step += 1
    is_told = (run / "notice.json").exists() and how != "deaf"
    if step % 10 == 0 or is_told:
        kept.write_text(str(step))
        committed = step
    tell("saved" if is_told else "running")
    if is_told:
        sys.exit(1 if how == "crashes" else 75)
    time.sleep(0.05)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The job."""
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return path


async def drill(*words: str) -> tuple[int | None, dict[str, Any], str]:
    """Run it with --json; return its status, its report, and what it says besides."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "watcher", "drill", "--json", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "REPRIEVE_CLOUD": "gcp", "AWS_EC2_METADATA_DISABLED": "true"},
    )
    printed, said = await process.communicate()
    return process.returncode, json.loads(printed or b"{}"), said.decode()


async def test_job_survives_when_it_saves_and_goes_on(script: Path, tmp_path: Path) -> None:
    """Settings that are meant for the node that the drill is on change nothing."""
    status, report, said = await drill("--", sys.executable, str(script), f"{tmp_path}/kept", "")
    assert (status, report.get("survived")) == (0, True), said
    assert report["code"] == 75
    assert 0 < report["flag_s"] < report["ended_s"] < 120
    assert report["committed_step"] == report["step"]
    assert report["resumed_step"] > report["committed_step"]
    assert report["spare_s"]["AWS"] > 0


@pytest.mark.parametrize(
    ("how", "window_s", "words"),
    [
        pytest.param("deaf", 5, "was killed", marks=pytest.mark.slow),
        ("crashes", 30, "ended with 1"),
        ("forgets", 30, "began before"),
    ],
)
async def test_job_is_lost_when_it_does_not_do_its_part(
    script: Path, tmp_path: Path, how: str, window_s: int, words: str
) -> None:
    """It hears nothing, dies of the notice, or begins anew; nothing of it stays behind."""
    kept = tmp_path / "kept"
    command = (sys.executable, str(script), str(kept), how)
    status, report, said = await drill(f"--window={window_s}", "--", *command)
    assert status == 1, said
    assert words in "; ".join(report["why_not"])
    before = kept.read_text()
    await asyncio.sleep(1)
    assert kept.read_text() == before


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (["/nonexistent/job"], 1, "No such file"),
        ([sys.executable, "-c", "raise SystemExit(3)"], 78, "ended with 3 before"),
    ],
)
async def test_drill_is_refused_when_there_is_no_job_to_try(
    command: list[str], status: int, words: str
) -> None:
    """No report is better than one about nothing."""
    found, report, said = await drill("--", *command)
    assert (found, report) == (status, {})
    assert words in said
