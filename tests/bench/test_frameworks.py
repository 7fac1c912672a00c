"""The bench of frameworks: what it makes of what was seen, and one way for real."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from frameworks import WAYS, falls_short, table
from lab.frameworks import Seen, Told

BENCH = Path(__file__).parents[2] / "bench" / "frameworks.py"

OURS = next(way for way in WAYS if way.name == "ours")
THEIRS = next(way for way in WAYS if way.name == "save-state")

GOOD = Seen(
    way=OURS,
    told=Told.ONE,
    stopped_at=(23, 23),
    code=75,
    seconds=2.0,
    resumed_at=23,
    is_exact=True,
)


@pytest.mark.parametrize(
    "change",
    [{"stopped_at": (23, 24)}, {"code": 1}, {"code": None}, {"resumed_at": 0},
     {"resumed_at": None}, {"is_exact": False}],
)  # fmt: skip
def test_only_ours_falls_short_when_something_is_amiss(change: dict[str, object]) -> None:
    """One step for all, 75, and an exact resume; of other ways nothing is demanded."""
    assert not falls_short(GOOD)
    amiss = replace(GOOD, **change)  # type: ignore[arg-type]  # fields of Seen
    assert falls_short(amiss)
    assert not falls_short(replace(amiss, way=THEIRS))


def test_table_says_what_was_seen_in_words() -> None:
    """Steps apart, a job that hung, and what its checkpoint was worth."""
    hung = replace(GOOD, way=THEIRS, stopped_at=(23, 24), code=None, resumed_at=20, is_exact=False)
    torn = replace(hung, told=Told.ALL, code=1, resumed_at=None)
    rows = [line.strip("| ").split(" | ")[2:] for line in table([GOOD, hung, torn]).splitlines()]
    assert rows[2:] == [
        ["one rank", "23", "exact", "75", "2.0"],
        ["one rank", "23, 24", "goes on differently, 4 steps lost", "hung, killed", "2.0"],
        ["all ranks", "23, 24", "the next start fails", "1", "2.0"],
    ]


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.timeout(900)
@pytest.mark.parametrize("framework", ["accelerate", "lightning", "transformers"])
def test_bench_ends_with_its_figures_when_run(framework: str) -> None:
    """Our way with a framework: told on one rank and on all, exit status 0."""
    pytest.importorskip(framework, reason="needs its extra")
    command = [sys.executable, str(BENCH), "--only", framework, "--small"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=880)
    assert run.returncode == 0, run.stdout + run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert [one["told"] for one in result["seen"]] == ["one rank", "all ranks"]
    assert all(one["exact"] and one["code"] == 75 for one in result["seen"])
