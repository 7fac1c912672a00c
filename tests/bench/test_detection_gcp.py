"""The bench of detection on GCP: its figures from given samples, and its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from detection_gcp import Samples, result_of, table

BENCH = Path(__file__).parents[2] / "bench" / "detection_gcp.py"


def samples(ours_s: list[float], bare_s: float = 0.002) -> Samples:
    """Return what the flips took us and the bare handler, and two of them the polls."""
    return Samples(ours_s, [bare_s] * len(ours_s), {1.0: [0.5, 0.7], 5.0: [2.0, 3.0]})


def test_result_has_each_handler_when_idle_and_when_busy() -> None:
    """Medians with their intervals, and the slowest."""
    result = result_of(samples([0.005] * 300), samples([0.010] * 300))
    busy = result["busy"]
    assert isinstance(busy, dict)
    assert busy["flips"] == 300
    assert busy["ours"]["median_s"]["median"] == 0.01
    assert busy["poll_5s"]["max_s"] == 3.0
    assert busy["poll_1s"]["samples"] == 2
    assert busy["ours_times_bare"]["median"] == 5.0


@pytest.mark.parametrize(
    ("idle", "busy", "is_missed"),
    [
        ([0.019] * 300, [0.019] * 300, False),
        ([0.005] * 298 + [0.5] * 2, [0.019] * 300, False),
        ([0.005] * 290 + [0.5] * 10, [0.019] * 300, True),
        ([0.005] * 300, [0.021] * 300, True),
    ],
    ids=["fast", "two late", "ten late", "late when busy"],
)
def test_target_is_missed_when_surely_more_than_one_in_a_hundred_is_late(
    idle: list[float], busy: list[float], *, is_missed: bool
) -> None:
    """On an idle machine or on a busy one."""
    assert result_of(samples(idle), samples(busy))["missed"] is is_missed


@pytest.mark.parametrize(("bare_s", "is_allowed"), [(0.020, True), (0.021, False)])
def test_target_is_missed_as_anywhere_when_the_machine_is_too_slow_for_it(
    bare_s: float, *, is_allowed: bool
) -> None:
    """It says so, where a handler that does nothing else is late too."""
    result = result_of(samples([0.005] * 300), samples([0.021] * 300, bare_s))
    assert result["missed"] is True
    assert isinstance(result["busy"], dict)
    assert result["busy"]["machine_allows"] is is_allowed


def test_table_has_a_line_a_handler_when_shown() -> None:
    """Ours first, idle before busy."""
    lines = table(samples([0.005]), samples([0.006])).splitlines()[1:]
    assert [line.split()[:2] for line in lines] == [
        *(["idle", "ours"], ["idle", "bare"], ["idle", "poll"], ["idle", "poll"]),
        *(["busy", "ours"], ["busy", "bare"], ["busy", "poll"], ["busy", "poll"]),
    ]


@pytest.mark.e2e
@pytest.mark.slow
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON, counts every flip, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--flips", "2", "--held", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["idle"]["flips"] == result["busy"]["flips"] == 2
