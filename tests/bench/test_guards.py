"""The bench of the guards: its figures from given samples, and its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from guards import SIZES, figures_of

BENCH = Path(__file__).parents[2] / "bench" / "guards.py"


def test_figures_count_each_round_once_when_ranks_and_rounds_differ() -> None:
    """A round's figure is the median of all its ranks."""
    rounds = [[{"step": 1.0}, {"step": 3.0}], [{"step": 5.0}, {"step": 7.0}], [{"step": 4.0}] * 2]
    assert figures_of(rounds)["step"].median == 4.0


@pytest.mark.slow
@pytest.mark.ranks
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON with every figure at both sizes, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--rounds", "2"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["bench"] == "guards"
    assert result["target"] == {"figure": "a_step", "median_us": 1.5}
    assert set(result["ranks"]) == {str(size) for size in SIZES}
    for figures in result["ranks"].values():
        assert set(figures) == {"stop_check", "step", "reporting", "watched", "a_step"}
        assert figures["a_step"]["median"] > 0
