"""The bench of plan: its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "plan.py"


@pytest.mark.slow
@pytest.mark.ranks
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--runs", "20"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["target"] == {"played_s": 10.0, "runs": 10_000}
    assert result["slowdown"]["played"]["mean"] == pytest.approx(
        result["slowdown"]["exact"], rel=0.01
    )
