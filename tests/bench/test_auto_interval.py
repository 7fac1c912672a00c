"""The bench of the interval that a run chooses: its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "auto_interval.py"


@pytest.mark.slow
@pytest.mark.ranks
def test_bench_ends_with_its_figures_when_run() -> None:
    """One interruption for real, a few in virtual time; the last line agrees with the status."""
    command = [sys.executable, str(BENCH), "--interruptions=1", "--mtbi-s=2", "--virtual=200"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=55)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["target"] == {"waste_ratio": 1.1}
    assert result["virtual_interruptions"] == 200
    assert result["waste_ratio"]["value"] >= 0.99
    assert all(result["measured"][letter] > 0 for letter in "CDRM")
    assert {"young", "daly", "exact"} == {*result["by_rule_s"]}
