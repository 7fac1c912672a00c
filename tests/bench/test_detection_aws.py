"""The bench of detection: its figures from given samples, and its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from detection_aws import Sample, result_of, table

BENCH = Path(__file__).parents[2] / "bench" / "detection_aws.py"


def test_result_pairs_both_handlers_when_they_saw_the_same_notices() -> None:
    """The ratio is of each notice by itself, not of two medians."""
    samples = [Sample(0.1, 1.0), Sample(0.5, 1.0), Sample(0.9, 2.7)]
    result = result_of(samples)
    assert result["notices"] == 3
    assert result["ours"] == {
        "median_s": {"median": 0.5, "ci95": [0.1, 0.9]},
        "p99_s": 0.892,
        "max_s": 0.9,
    }
    ratio = result["ticking_times_ours"]
    assert isinstance(ratio, dict)
    assert ratio["median"] == 3.0  # of 10, 2 and 3


@pytest.mark.parametrize(
    ("ours", "is_missed"),
    [
        ([0.5] * 300, False),
        ([0.4, 0.8] * 150, False),
        ([0.56] * 300, True),
        ([0.1] * 299 + [1.06], True),
        ([0.1] * 299 + [1.05], False),
    ],
    ids=["fast", "unsure", "slow", "one too late", "one just in time"],
)
def test_target_is_missed_by_a_sure_median_or_a_single_notice_when_either_is_late(
    ours: list[float], *, is_missed: bool
) -> None:
    """A median is judged by its interval; the slowest notice is a fact."""
    assert result_of([Sample(one, 2.0) for one in ours])["missed"] is is_missed


def test_table_has_a_line_a_handler_when_shown() -> None:
    """Ours first."""
    lines = table([Sample(0.5, 1.5), Sample(0.6, 1.6)]).splitlines()
    assert [line.split()[0] for line in lines] == ["2", "ours", "ticking"]


@pytest.mark.slow
@pytest.mark.e2e
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON, counts every notice, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--nodes", "1", "--notices", "2"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert (result["bench"], result["notices"]) == ("detection_aws", 2)
    assert result["ours"]["max_s"] > 0
    assert result["machine"]["cores"] >= 1
