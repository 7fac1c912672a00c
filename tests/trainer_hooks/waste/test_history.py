"""What a ledger says of C, D, R, M, and of each interruption."""

from pathlib import Path

import pytest

from tests.support.ledgers import begin, example
from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.account import timeline
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.heard import Heard, Urgency
from trainer_hooks.waste.history import History, history
from trainer_hooks.waste.interruptions import Interruption, interruptions
from trainer_hooks.waste.records import Committed, End, Outcome, Part, Saved, Steps


def measured(*attempts: Attempt) -> History:
    """Return the history of attempts."""
    return history(attempts, timeline(attempts))


def test_times_are_measured_when_a_run_was_interrupted_twice(tmp_path: Path) -> None:
    """Stalls, commit lags, restarts without the waiting, and what each attempt ran."""
    found = measured(*example(tmp_path))
    assert found.stalls_s == (2, 3, 2)
    assert found.lags_s == (6, 4, 4)
    assert found.restarts_s == pytest.approx((52 - 30 + 15, 92 + 10))
    assert [(up.running_s, up.is_interrupted) for up in found.uptimes] == [
        (187, True),
        (143, True),
        (100, False),
    ]
    costs = found.costs()
    assert (costs.stall_s, costs.can_restart_fail) == (2, False)
    assert costs.mtbi_s == pytest.approx(430 / 2.5, rel=0.01)
    assert found.dispersion is None  # two are too few


@pytest.mark.parametrize(
    ("outcome", "is_interrupted"),
    [
        (Outcome.PREEMPTED, True),
        (Outcome.FAILED, True),
        (Outcome.DRILLED, False),
        (Outcome.FINISHED, False),
        (Outcome.STOPPED, False),
        (None, True),
    ],
)
def test_end_counts_as_an_interruption_when_it_was_one(
    outcome: Outcome | None, *, is_interrupted: bool
) -> None:
    """A drill is none, and says nothing of M."""
    end = None if outcome is None else End(at=1100, outcome=outcome, step=10)
    steps = [Steps(first=0, end=10, began=1000, ended=1100)]
    first = Attempt(begin=begin(1, 1000), steps=steps, end=end)
    last = Attempt(begin=begin(2, 1200), steps=[Steps(first=0, end=1, began=1210, ended=1220)])
    assert [up.is_interrupted for up in measured(first, last).uptimes] == [is_interrupted, False]


def test_restart_is_one_when_it_was_interrupted_itself() -> None:
    """An attempt that never ran belongs to the restart of the next one."""
    first = Attempt(begin=begin(1, 1000), steps=[Steps(first=0, end=9, began=1000, ended=1100)])
    never = Attempt(begin=begin(2, 1150), end=End(at=1160, outcome=Outcome.FAILED, step=0))
    last = Attempt(begin=begin(3, 1200), steps=[Steps(first=0, end=1, began=1210, ended=1220)])
    found = measured(first, never, last)
    assert found.restarts_s == (110,)
    assert len(found.uptimes) == 2


def test_costs_are_refused_when_there_was_no_save() -> None:
    """C is not known."""
    attempt = Attempt(begin=begin(1, 1000), steps=[Steps(first=0, end=9, began=1000, ended=1100)])
    with pytest.raises(ConfigError, match="no save yet"):
        measured(attempt).costs()


def test_every_interruption_has_its_cost_when_a_run_is_told(tmp_path: Path) -> None:
    """One with a notice, one without."""
    attempts = example(tmp_path)
    first, second = interruptions(attempts, timeline(attempts))
    assert first == Interruption(
        attempt=1,
        at=1198,
        outcome=Outcome.PREEMPTED,
        noticed_s=8,
        answered_s={"stopped": 7, "left": 8},
        at_step=17,
        resumed_step=10,
        rework_gpu_s=8 * 70,
        restart_gpu_s=first.restart_gpu_s,
        waiting_gpu_s=8 * 30,
        back_s=1265 - 1198,
        parts_s=first.parts_s,
    )
    assert first.restart_gpu_s == pytest.approx(8 * 37)
    assert list(first.parts_s) == [Part.AWAY, Part.WAITING, Part.INIT, Part.LOAD]
    assert sum(first.parts_s.values()) == pytest.approx(first.back_s)
    assert (first.lost_steps, second.lost_steps) == (7, 4)
    assert (second.outcome, second.noticed_s, second.answered_s) == (None, None, {})
    assert second.cost_gpu_s == pytest.approx(8 * 40 + 4 * 102)


def test_answer_counts_from_the_stop_notice_when_advice_came_long_before() -> None:
    """From the watcher's hand to the flag, to here, to the last step, the last commit, the end."""
    first = Attempt(
        begin=begin(1, 1000),
        steps=[Steps(first=0, end=9, began=1010, ended=1100)],
        saves=[Saved(step=9, began=1100, ended=1101)],
        commits=[Committed(step=5, at=1060), Committed(step=9, at=1104)],
        notices=[
            Heard(at=1020, id="advice", urgency=Urgency.ADVISORY),
            Heard(at=1098, id="reclaim", received_at=1097, written_at=1097.5),
            Heard(at=1099, id="another node's"),
        ],
        end=End(at=1105, outcome=Outcome.PREEMPTED, step=9),
    )
    last = Attempt(begin=begin(2, 1200, resumed_step=9))
    (found,) = interruptions([first, last], timeline([first, last]))
    assert found.noticed_s == 7
    assert found.answered_s == {
        "flag": 0.5,
        "heard": 1,
        "stopped": 3,
        "committed": 7,
        "left": 8,
    }
    for end, noticed_s in ((None, 6), (End(at=1105, outcome=Outcome.FAILED, step=9), 7)):
        first.end = end  # killed, or told by its launcher after another rank's death
        (found,) = interruptions([first, last], timeline([first, last]))
        assert (found.noticed_s, found.answered_s) == (noticed_s, {})
