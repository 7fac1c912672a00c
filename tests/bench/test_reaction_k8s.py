"""The bench of the reaction: its figures from given samples, and its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from reaction_k8s import EVERY, NODES, Phase, Reactions, nodes_for, plan, result_of, table

BENCH = Path(__file__).parents[2] / "bench" / "reaction_k8s.py"


def phase(
    flag_s: list[float], taint_s: list[float], bare: tuple[float, float] = (0.001, 0.01)
) -> Phase:
    """Return what so many notices took, the first of them after a pause."""
    count = len(flag_s)
    every = (flag_s, taint_s, [bare[0]] * count, [bare[1]] * count)
    cold, warm = Reactions(*(s[:1] for s in every)), Reactions(*(s[1:] for s in every))
    return Phase(cold, warm, [0.2, 0.3])


GOOD = phase([0.002] * 100, [0.02] * 100)


def test_result_has_both_targets_when_idle_and_when_busy() -> None:
    """And by themselves those after a pause."""
    result = result_of(GOOD, phase([0.003] * 100, [0.03] * 100))
    busy = result["busy"]
    assert isinstance(busy, dict)
    assert busy["notices"] == 100
    assert result["kubectl_times_our_taint"] == 12.5
    assert busy["flag"]["median_s"]["median"] == 0.003
    assert busy["taint"]["p99_s"] == 0.03
    assert busy["after_a_pause"]["taint"]["samples"] == 1


@pytest.mark.parametrize(
    ("idle", "busy", "is_missed"),
    [
        (GOOD, GOOD, False),
        (phase([0.0051] * 100, [0.02] * 100), GOOD, True),
        (GOOD, phase([0.002] * 100, [0.051] * 100), True),
        (phase([1.0, *[0.002] * 200], [0.02] * 201), GOOD, False),
        (phase([*[1.0] * 10, *[0.002] * 190], [0.02] * 200), GOOD, True),
    ],
    ids=["good", "flag", "taint when busy", "one late", "ten late"],
)
def test_target_is_missed_when_surely_more_than_one_in_a_hundred_is_late(
    idle: Phase, busy: Phase, *, is_missed: bool
) -> None:
    """Those after a pause count as all others; one late in two hundred is not sure to be."""
    assert result_of(idle, busy)["missed"] is is_missed


@pytest.mark.parametrize("bare", [(0.005, 0.05), (0.006, 0.05), (0.005, 0.06)])
def test_target_is_missed_as_anywhere_when_the_machine_is_too_slow_for_it(
    bare: tuple[float, float],
) -> None:
    """It says so, where a handler that does nothing else is late too."""
    result = result_of(GOOD, phase([0.006] * 100, [0.02] * 100, bare))
    assert result["missed"] is True
    assert isinstance(result["busy"], dict)
    assert result["busy"]["machine_allows"] == {"flag": bare[0] <= 0.005, "taint": bare[1] <= 0.05}


@pytest.mark.parametrize(
    ("notices", "nodes"), [(1, 1), (19, 1), (20, 2), (100, NODES), (1000, NODES)]
)
def test_every_tenth_notice_of_a_node_comes_after_a_pause(notices: int, nodes: int) -> None:
    """However many nodes wait side by side."""
    assert nodes_for(notices) == nodes
    cold = [number for number, is_cold in plan(notices, nodes) if is_cold]
    assert cold == [number for number in range(notices) if number % (nodes * EVERY) < nodes]


def test_table_has_a_line_a_figure_when_shown() -> None:
    """Idle before busy."""
    figures = ("flag", "flag,", "taint", "taint,", "bare", "bare", "kubectl")
    lines = table(GOOD, GOOD).splitlines()[1:]
    assert [tuple(line.split()[:2]) for line in lines] == [
        (name, figure) for name in ("idle", "busy") for figure in figures
    ]


@pytest.mark.e2e
@pytest.mark.slow
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON, counts every notice, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--notices", "2", "--idle", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["idle"]["notices"] == result["busy"]["notices"] == 2
