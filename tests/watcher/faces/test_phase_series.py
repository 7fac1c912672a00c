"""Steps by phase as counters: one for each rank and phase, and no label of a trainer's making."""

from dataclasses import replace

from tests.support.trainers import trainer
from watcher.faces.phase_series import phases_of
from watcher.faces.trainer_series import Shown
from watcher.faces.trainer_slots import OTHER
from watcher.rank_figures import Phase, RankFigures
from watcher.trainer_figures import TrainerFigures

RANKS = (
    RankFigures(steps=7, spent_s={Phase.DATA: 1.5, Phase.COMPUTE: 4.0, Phase.SAVE: 0.5}),
    RankFigures(steps=None, spent_s={Phase.COMPUTE: 5.0}),
)
TOLD = Shown(trainer(figures=TrainerFigures(ranks=RANKS)), "3", 0.0, 0.0)


def samples(*shown: Shown) -> dict[tuple[str, ...], float]:
    """Return all samples by name and labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in phases_of(shown)
        for sample in family.samples
    }


def test_ranks_are_counted_by_phase_when_a_trainer_tells_of_them() -> None:
    """A rank is named by its place; what it does not say has no series."""
    assert samples(TOLD) == {
        ("reprieve_trainer_rank_steps_total", "3", "0"): 7,
        ("reprieve_trainer_rank_phase_seconds_total", "3", "0", "data"): 1.5,
        ("reprieve_trainer_rank_phase_seconds_total", "3", "0", "compute"): 4.0,
        ("reprieve_trainer_rank_phase_seconds_total", "3", "0", "save"): 0.5,
        ("reprieve_trainer_rank_phase_seconds_total", "3", "1", "compute"): 5.0,
    }


def test_nothing_is_counted_when_trainers_share_a_label() -> None:
    """A counter of several is none."""
    assert samples(replace(TOLD, label=OTHER)) == {}
