"""The bench of the sampler: its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sampler import SIZES

BENCH = Path(__file__).parents[2] / "bench" / "sampler.py"


@pytest.mark.slow
@pytest.mark.ranks
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON with every size, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--rounds", "20"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["target"] == {"build_or_seek_ms": 1.0, "growth_bytes": 16384}
    assert set(result["sizes"]) == {str(size) for size in SIZES}
    assert result["growth_bytes"] <= 16384
    assert result["peer"]["sizes"]["1000000"]["peak_bytes"] > 10**6
