"""How ranks spend their steps, by a trainer's word: read where it makes sense, never trusted."""

import json
from pathlib import Path

import pytest

from watcher.rank_figures import MOST_RANKS, Phase, RankFigures, ranks_of

GOLDEN = Path(__file__).parents[1] / "contract" / "trainer_v1.json"


def test_ranks_are_read_when_the_file_is_the_golden_one() -> None:
    """By local rank; a phase that one does not see is absent."""
    assert ranks_of(json.loads(GOLDEN.read_text())["ranks"]) == (
        RankFigures(steps=200, spent_s={Phase.DATA: 12.5, Phase.COMPUTE: 80.0, Phase.SAVE: 0.5}),
        RankFigures(steps=199, spent_s={Phase.COMPUTE: 92.25, Phase.SAVE: 0.5}),
    )


@pytest.mark.parametrize("said", [None, 7, "ranks", {}, True])
def test_ranks_are_absent_when_they_are_no_list(said: object) -> None:
    """Nothing is refused for it."""
    assert ranks_of(said) == ()


@pytest.mark.parametrize(
    "value", [None, True, "1", -1, 10**400, float("nan"), float("inf"), [], {}]
)
def test_figure_is_not_said_when_it_makes_no_sense(value: object) -> None:
    """The rank keeps its place all the same."""
    said = [value, {"steps": value, "data_s": value, "save_s": 1.0}]
    nothing = RankFigures(steps=None, spent_s={})
    assert ranks_of(said) == (nothing, RankFigures(steps=None, spent_s={Phase.SAVE: 1.0}))


def test_ranks_are_cut_off_when_there_are_too_many() -> None:
    """However many a trainer claims."""
    assert len(ranks_of([{"steps": 1}] * 1000)) == MOST_RANKS
