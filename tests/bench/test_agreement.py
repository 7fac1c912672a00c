"""The bench of the agreement: its figures from given rounds, and its last line for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from agreement import figure_of
from lab.agreeing import OPERATIONS_LIMIT, RankRound, agree_in_rounds

BENCH = Path(__file__).parents[2] / "bench" / "agreement.py"


def test_figure_counts_a_round_by_its_last_rank() -> None:
    """However early the others know."""
    rounds = [[RankRound(0.1, 6, -1), RankRound(last, 9, -1)] for last in (0.2, 0.3, 0.4)]
    figure = figure_of([*rounds, [RankRound(0.3, 6, 40), RankRound(0.1, 7, 40)]])
    assert figure.told_s.median == pytest.approx(0.3)
    assert figure.worst_s == 0.4
    assert figure.operations == (6, 9)
    assert figure.rounds == 4
    assert not figure.is_missed


@pytest.mark.parametrize(
    "last", [[RankRound(0.1, 6, 40), RankRound(0.1, 6, 41)], [RankRound(0.1, 64, 40)]]
)
def test_figure_misses_when_ranks_part_or_ask_too_much(last: list[RankRound]) -> None:
    """One that stops elsewhere, and one whose operations are as many as the ranks."""
    assert figure_of([last]).is_missed


@pytest.mark.ranks
def test_operations_of_a_rank_stay_when_ranks_are_more() -> None:
    """Counted in real rounds: no rank asks more of the Store among 24 than among 3."""
    for size in (3, 24):
        rounds = agree_in_rounds(size, 2)
        assert len(rounds) == 3
        assert {len(ranks) for ranks in rounds} == {size}
        assert min(rank.operations for ranks in rounds for rank in ranks) == 6
        assert max(rank.operations for ranks in rounds for rank in ranks) <= OPERATIONS_LIMIT
        assert len({rank.stop_step for rank in rounds[-1]}) == 1


@pytest.mark.slow
@pytest.mark.ranks
def test_bench_ends_with_its_figures_when_run() -> None:
    """The last line is JSON with every size, and agrees with the exit status."""
    command = [sys.executable, str(BENCH), "--sizes", "4", "8", "--rounds", "2"]
    run = subprocess.run(
        [*command, "--step-rounds", "3"], capture_output=True, text=True, check=False, timeout=55
    )
    assert run.stdout, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == (1 if result["missed"] else 0)
    assert result["bench"] == "agreement"
    assert set(result["ranks"]) == {"4", "8"}
    for figure in result["ranks"].values():
        assert figure["told_s"]["median"] > 0
        assert figure["rounds"] == 3
    assert {"ours", "all_reduce", "all_gather", "broadcast"} <= set(result["a_step"])
