"""The bench of the stop check: its figures from given samples, and its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from stop_check import SIZES, figures_of, table

BENCH = Path(__file__).parents[2] / "bench" / "stop_check.py"


def test_figures_count_each_round_once_when_ranks_and_rounds_differ() -> None:
    """A round's figure is the median of all its ranks; p99 looks at every sample."""
    rounds = [
        [{"ours": [1.0], "peer": [10.0, 30.0]}, {"ours": [3.0], "peer": [20.0, 1000.0]}],
        [{"ours": [2.0], "peer": [50.0, 50.0]}, {"ours": [2.0], "peer": [50.0, 50.0]}],
        [{"ours": [4.0], "peer": [160.0, 160.0]}, {"ours": [4.0], "peer": [160.0, 160.0]}],
    ]
    figures = figures_of(rounds)
    assert figures["ours"].median_us.median == 2.0
    assert figures["ours"].times_ours is None
    peer = figures["peer"]
    assert peer.median_us.median == 50.0
    assert peer.times_ours is not None
    assert peer.times_ours.median == 25.0  # of 12.5, 25 and 40
    assert 160.0 < peer.p99_us <= 1000.0
    assert (peer.samples, figures["ours"].samples) == (12, 6)


def test_table_begins_with_the_cheapest_when_schemes_differ() -> None:
    """People read from the top."""
    lines = table(2, figures_of([[{"peer": [8.0], "ours": [2.0]}]])).splitlines()
    assert [line.split()[0] for line in lines] == ["2", "ours", "peer"]


@pytest.mark.slow
@pytest.mark.ranks
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON with every scheme at both sizes, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--rounds", "3"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["bench"] == "stop_check"
    assert result["target"] == {"scheme": "ours", "median_us": 1.0}
    assert set(result["ranks"]) == {str(size) for size in SIZES}
    for figures in result["ranks"].values():
        assert set(figures) == {"ours", "all_reduce", "all_gather", "broadcast", "exists"}
        assert all(figure["median_us"]["median"] > 0 for figure in figures.values())
    assert result["machine"]["cores"] >= 1
