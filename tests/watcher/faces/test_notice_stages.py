"""How fast a notice was answered, by the flag and by each trainer."""

import logging

import pytest

from tests.support.clocks import START, TurnedClock
from tests.support.standings import admitted, in_force
from tests.support.trainers import after, trainer
from watcher.faces.notice_stages import NOTED_LIMIT, NoticeStages
from watcher.metrics import Metrics
from watcher.notice import NoticeKind, Standing
from watcher.state import ActionRecord, State
from watcher.trainer_figures import TrainerFigures
from watcher.trainers import FILE_LIMIT, Trainer, TrainerState

SPOT = in_force()
STAGES = ("flag", "noticed", "stopped", "committed")


class Answered:
    """Notices in force, and what is measured of the answers to them."""

    def __init__(self, *standings: Standing) -> None:
        self.state, self.metrics, self.clock = State(), Metrics(), TurnedClock()
        self.stages = NoticeStages(self.state, self.metrics, START)
        admitted(self.state, *standings)

    def write_flag(self, after_s: float) -> None:
        """Let the flag tell of the first notice."""
        self.clock.turn(after_s)
        [first, *_] = self.state.entries()
        first.actions["flag_file"] = ActionRecord("done", self.clock(), "wrote it", 1)

    def sums(self, kind: str = "preemption") -> dict[str, tuple[float | None, float | None]]:
        """Return how many were measured at each stage, and their sum."""
        sample, name = self.metrics.registry.get_sample_value, "reprieve_notice_to_stage_seconds"
        labels = ({"kind": kind, "stage": stage} for stage in STAGES)
        return {
            each["stage"]: (sample(f"{name}_count", each), sample(f"{name}_sum", each))
            for each in labels
            if sample(f"{name}_count", each)
        }


def stopped(name: str = "t-1", *, after_s: float, state: TrainerState) -> Trainer:
    """Return a trainer that has noticed at once, stopped a second later and committed then."""
    at = after(after_s).timestamp()
    figures = TrainerFigures(noticed_at=at, stopped_at=at + 1)
    return trainer(name, state, committed_s=after_s + 3, figures=figures)


def test_stages_are_measured_once_a_trainer_when_a_notice_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """However often one looks; the log has them too, as the node may die before it is scraped."""
    caplog.set_level(logging.INFO)
    answered = Answered(SPOT)
    answered.write_flag(0.25)
    trainers = [
        stopped("a", after_s=0.5, state=TrainerState.SAVED),
        stopped("b", after_s=1.5, state=TrainerState.EXITED),
    ]
    for _ in range(2):
        answered.stages.note(trainers)
    assert answered.sums() == {
        "flag": (1, 0.25),
        "noticed": (2, 2.0),
        "stopped": (2, 4.0),
        "committed": (2, 8.0),
    }
    [entry] = answered.state.entries()
    assert entry.stages == {"flag": 0.25, "noticed": 1.5, "stopped": 2.5, "committed": 4.5}
    assert "notice_id=spot-1" in caplog.text
    assert "flag_s=0.250 noticed_s=1.500 stopped_s=2.500 committed_s=4.500" in caplog.text


def test_stages_are_bounded_when_trainers_are_invented(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever writes files by other names at each look gets no log of his own."""
    caplog.set_level(logging.INFO)
    answered = Answered(SPOT)
    for look in range(10):
        names = [f"evil-{look}-{number}" for number in range(FILE_LIMIT)]
        answered.stages.note([stopped(one, after_s=1.0, state=TrainerState.SAVED) for one in names])
    measured = sum(count or 0 for count, _ in answered.sums().values())
    assert measured == NOTED_LIMIT
    assert caplog.text.count("notice answered") <= NOTED_LIMIT


def test_commit_is_not_measured_when_the_trainer_may_still_commit() -> None:
    """A commit on the way to the stop is not the last one."""
    answered = Answered(SPOT)
    answered.stages.note([stopped(after_s=0.5, state=TrainerState.STOPPING)])
    assert answered.sums().keys() == {"noticed", "stopped"}


def test_nothing_is_measured_when_it_was_before_the_notice() -> None:
    """A trainer that has stopped for an earlier notice is no answer to this one."""
    answered = Answered(SPOT)
    answered.stages.note([stopped(after_s=-10, state=TrainerState.EXITED)])
    assert answered.sums() == {}


def test_nothing_is_measured_when_it_was_after_the_notice_was_withdrawn() -> None:
    """What the next notice brings about is no answer to the last one."""
    answered = Answered(SPOT)
    answered.clock.turn(1)
    answered.state.retire(SPOT.notice, answered.clock())
    answered.stages.note([stopped(after_s=0.5, state=TrainerState.SAVED)])
    assert answered.sums() == {"noticed": (1, 0.5)}


def test_advice_is_not_measured_as_nobody_stops_for_it() -> None:
    """The next stop would be."""
    advice = in_force("rebalance-1", NoticeKind.REBALANCE)
    answered = Answered(advice)
    answered.stages.note([stopped(after_s=0.5, state=TrainerState.SAVED)])
    assert answered.sums("rebalance") == {}


def test_drill_is_measured_apart() -> None:
    """By its kind, which is a label."""
    answered = Answered(in_force("drill-1", NoticeKind.DRILL))
    answered.stages.note([stopped(after_s=0.5, state=TrainerState.SAVED)])
    assert answered.sums("drill").keys() == {"noticed", "stopped", "committed"}
    assert answered.sums() == {}


def test_time_is_counted_from_the_daemons_start_when_it_was_restarted() -> None:
    """How long the notice had been in force before nobody here has seen."""
    answered = Answered(SPOT)
    answered.clock.turn(0.25)
    answered.stages = NoticeStages(answered.state, answered.metrics, answered.clock())
    answered.stages.note([stopped(after_s=0.5, state=TrainerState.STOPPING)])
    assert answered.sums() == {"noticed": (1, 0.25), "stopped": (1, 1.25)}
