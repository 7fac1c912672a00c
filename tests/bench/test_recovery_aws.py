"""The bench of what comes after an outage: its verdict from given figures, and a run for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from recovery_aws import TARGETS_S, result_of

BENCH = Path(__file__).parents[2] / "bench" / "recovery_aws.py"


def took(**late: float) -> dict[str, list[float]]:
    """Return two figures of each kind, the second as named."""
    return {name: [0.1, late.get(name, 0.2)] for name in TARGETS_S}


@pytest.mark.parametrize(
    ("late", "is_missed"),
    [
        ({}, False),
        ({"hang": 1.09, "503": 5.09}, False),
        ({"hang": 1.11}, True),
        ({"429": 5.11}, True),
        ({"killed": 1.2}, True),
    ],
)
def test_target_is_missed_when_a_single_case_is_late(
    late: dict[str, float], *, is_missed: bool
) -> None:
    """Each kind by its own limit."""
    result = result_of(took(**late), 30.0)
    assert result["missed"] is is_missed
    assert result["silent_s"] == 30.0


@pytest.mark.e2e
@pytest.mark.slow
def test_bench_ends_with_its_figures_when_run() -> None:
    """Every kind of outage, a second long; the exit status agrees with the last line."""
    command = [sys.executable, str(BENCH), "--each", "1", "--silent", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert {name: len(seconds) for name, seconds in result["ours_s"].items()} == dict.fromkeys(
        TARGETS_S, 1
    )
