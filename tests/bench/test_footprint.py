"""The bench of the daemon's footprint: its judgement of given figures, its last line for real."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from footprint import Footprint, result_of, table
from lab.usage import cpu_s, rss_bytes

BENCH = Path(__file__).parents[2] / "bench" / "footprint.py"


def measured(polls_mb: Sequence[float] = (40.0,) * 100, **changes: float) -> Footprint:
    """Return figures that meet every target, but for those that are given."""
    figures = {
        "idle_mb": 50.0,
        "core_share": 0.002,
        "queue_mb": 100.0,
        "polls_a_s": 2.0,
        "poll_s": 0.001,
        "slower_after_a_pause": 1.0,
    }
    return Footprint(polls=50_000, polls_mb=polls_mb, **(figures | changes))


def test_result_has_every_figure_when_all_is_well() -> None:
    """And says so."""
    result = result_of(measured())
    assert result["missed"] is False
    assert result["idle"] == {
        "rss_mb": 50.0,
        "core_share": 0.002,
        "slower_after_a_pause": 1.0,
        "machine_allows": True,
        "awake_core_share": 0.002,
    }
    assert result["queue"] == {"rss_mb": 100.0}


@pytest.mark.parametrize(
    "figures",
    [
        measured(idle_mb=64.1),
        measured([40.0] * 50 + [64.1] + [40.0] * 49),
        measured(queue_mb=128.1),
        measured(core_share=0.0031),
        measured([40.0 + 0.02 * look for look in range(100)]),
    ],
    ids=["idle", "while polling", "queue", "core", "growth"],
)
def test_target_is_missed_when_any_figure_is_too_large(figures: Footprint) -> None:
    """One suffices."""
    assert result_of(figures)["missed"] is True


def test_share_of_a_core_is_missed_as_anywhere_when_the_machine_is_slow_to_wake() -> None:
    """It says so, and what the polls take where nothing rests."""
    result = result_of(measured(core_share=0.03, slower_after_a_pause=3.1))
    assert result["missed"] is True
    idle = result["idle"]
    assert isinstance(idle, dict)
    assert (idle["machine_allows"], idle["awake_core_share"]) == (False, 0.002)


def test_growth_does_not_count_what_the_start_takes() -> None:
    """Caches fill, and then it has to stay so."""
    assert measured([30.0] * 20 + [40.0] * 80).growth_mb == 0
    assert measured([40.0] * 40 + [43.0] * 60).growth_mb == 3


def test_table_has_a_line_a_mode_when_shown() -> None:
    """People read that."""
    assert [line.split()[0] for line in table(measured()).splitlines()] == [
        *("idle", "polls", "queue")
    ]


def test_usage_is_of_the_process_that_is_asked_about() -> None:
    """Another one has its own memory and time."""
    code = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(code, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert 1e6 < rss_bytes(process.pid) < 1e9
        assert 0 <= cpu_s(process.pid) < 60
        process.communicate(b"\n")


@pytest.mark.e2e
@pytest.mark.slow
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--polls", "1000", "--idle", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["polls"]["count"] >= 1000
