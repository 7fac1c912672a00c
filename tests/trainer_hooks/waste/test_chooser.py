"""Which interval a job gives itself, and when it changes it."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from trainer_hooks.waste.auto import AutoInterval
from trainer_hooks.waste.chooser import READ_S, Chooser
from trainer_hooks.waste.estimate import Uptime
from trainer_hooks.waste.history import History
from trainer_hooks.waste.interval import Costs, exact_s
from trainer_hooks.waste.past import NOTHING, Earlier

LOST = Uptime(running_s=2250.0, is_interrupted=True)
KNOWN = Earlier(
    history=History(
        uptimes=(LOST,) * 100, stalls_s=(8.0,) * 9, lags_s=(24.5,) * 9, restarts_s=(300.0,) * 9
    ),
    step_s=2.0,
)


class Job:
    """A job whose steps and saves take as long as they are told to."""

    def __init__(self, auto: AutoInterval, earlier: Earlier | None = NOTHING) -> None:
        self.now_s = 1000.0
        self.step = 0
        self.every = auto.first_steps
        self.earlier = earlier
        self.waited_s: list[float] = []
        self.chooser = Chooser(auto, self._past, lambda: self.now_s)
        self.chooser.note_begun(0)
        self._lag_s: float | None = None

    def _past(self, patience_s: float) -> Earlier | None:
        self.waited_s.append(patience_s)
        return self.earlier

    def warm_up(self, seconds: float) -> None:
        """Do the first step."""
        self.now_s += seconds
        self.step += 1
        self.chooser.note_warm(self.step)

    def save(
        self, *, step_s: float = 1.0, stall_s: float = 1.0, lag_s: float = 5.0, bytes_: int = 1000
    ) -> int:
        """Train up to the next save, and save; return the interval in force from there on."""
        until = max(self.step + 1, (self.step // self.every + 1) * self.every)
        self.now_s += (until - self.step) * step_s
        self.step = until
        self.chooser.note_reached(self.step)
        if self._lag_s is not None:
            self.chooser.note_commit(self._lag_s, bytes_)
        self.every = self.chooser.choose(self.every)
        self.now_s += stall_s
        self.chooser.note_resumed(self.step, stall_s)
        self._lag_s = lag_s
        return self.every


def best_s(stall_s: float, mtbi_s: float) -> float:
    """Return the interval of least waste."""
    return exact_s(Costs(stall_s=stall_s, mtbi_s=mtbi_s))


def test_interval_is_the_first_one_when_no_save_was_measured() -> None:
    """And the best one from the second save on, by the pool's M and the running time so far."""
    job = Job(AutoInterval(first_steps=7, prior_mtbi_s=2250.0))
    assert job.save() == 7
    chosen = job.save()
    assert chosen == pytest.approx(best_s(1.0, 2250.0 + 15.0), abs=1)


def test_first_step_sets_no_pace_when_it_takes_long() -> None:
    """It compiles, or loads: a minute that is no step's time."""
    job = Job(AutoInterval())
    job.warm_up(60.0)
    job.save()
    warm = Job(AutoInterval())
    warm.save()
    assert job.save() == pytest.approx(warm.save(), rel=0.02)


def test_interval_is_the_runs_own_when_earlier_starts_have_measured_it() -> None:
    """At the first save already: C, D, R and M of the ledger, 100 interruptions."""
    job = Job(AutoInterval(), KNOWN)
    assert job.save() == pytest.approx(best_s(8.0, 2250.0), rel=0.01)


def test_interval_stays_when_the_past_is_not_read_yet() -> None:
    """The training waits for nobody."""
    job = Job(AutoInterval(), None)
    assert [job.save(), job.save(), job.save()] == [10, 10, 10]
    assert set(job.waited_s) == {0.0}
    job.earlier = KNOWN
    assert job.save() > 10


def test_interval_stays_when_estimates_wander(caplog: pytest.LogCaptureFixture) -> None:
    """A tenth up and down: it is changed once, not forty times."""
    caplog.set_level(logging.INFO)
    job = Job(AutoInterval(), KNOWN)
    chosen = [job.save(stall_s=8.0 * (1.1 if number % 2 else 0.9)) for number in range(40)]
    assert len(set(chosen)) == 1
    assert caplog.text.count("save_every=") == 1


def test_interval_follows_when_saves_have_become_dearer() -> None:
    """Within fifteen saves, as the median does."""
    job = Job(AutoInterval(), KNOWN)
    before = job.save(stall_s=8.0)
    after = [job.save(stall_s=60.0) for _ in range(15)]
    assert after[-1] == pytest.approx(best_s(60.0, 2250.0), rel=0.25)
    assert after[-1] > 2 * before


def test_interval_is_no_shorter_than_a_commit_takes_when_that_takes_long() -> None:
    """A save that falls due while one is in flight would hold the training up."""
    job = Job(AutoInterval(), KNOWN)
    chosen = [job.save(lag_s=245.0) for _ in range(110)]
    assert chosen[-1] >= 245


def test_interval_is_no_shorter_than_the_storage_bears_when_it_has_a_budget() -> None:
    """0.98 TB at 4 GB/s take 245 s, 8 of which are the stall."""
    job = Job(AutoInterval(bytes_per_s=4e9), KNOWN)
    job.save(bytes_=980_000_000_000)
    assert job.save(bytes_=980_000_000_000) == 237


def test_stalls_take_their_share_and_no_more_when_the_user_has_said_it() -> None:
    """8 s are 2 % of 400 s; when saves get dearer it holds at once."""
    job = Job(AutoInterval(overhead=0.02), KNOWN)
    assert job.save(stall_s=8.0) == 400
    for _ in range(20):
        job.save(stall_s=8.4)
    assert job.every == 420


def test_interval_is_chosen_at_the_start_when_it_is_far_off() -> None:
    """By steps as long as they were, and once the past is read; if it never is, it stays."""
    job = Job(AutoInterval(), KNOWN)
    assert job.chooser.choose_at_start(2000) == pytest.approx(best_s(8.0, 2250.0) / 2.0, abs=1)
    assert job.waited_s == [READ_S]
    assert Job(AutoInterval(), None).chooser.choose_at_start(2000) == 2000


def test_interval_stays_at_the_start_when_another_would_gain_next_to_nothing() -> None:
    """What was in force goes on."""
    assert Job(AutoInterval(), KNOWN).chooser.choose_at_start(95) == 95


def test_steps_of_no_time_change_nothing_when_a_clock_stands() -> None:
    """Nothing is divided by it."""
    job = Job(AutoInterval(), KNOWN)
    assert job.save(step_s=0.0) == 10


def test_line_is_the_pages_when_the_page_shows_one(caplog: pytest.LogCaptureFixture) -> None:
    """Word by word, over two rows."""
    caplog.set_level(logging.INFO)
    history = replace(
        KNOWN.history,
        uptimes=(Uptime(running_s=5200.0, is_interrupted=True),) * 4,
        stalls_s=(1.6,),
        lags_s=(9.8,),
        restarts_s=(95.0,),
    )
    Job(AutoInterval(first_steps=160), replace(KNOWN, history=history)).save(step_s=0.50125)
    page = (Path(__file__).parents[3] / "docs" / "waste.md").read_text(encoding="utf-8")
    assert (
        caplog.messages[0].split()
        == page[page.index("    save_every=") :].split()[: len(caplog.messages[0].split())]
    )


def test_line_has_the_usual_rules_beside_it_when_an_interval_is_chosen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Young's and Daly's, what it was chosen by, and from what."""
    caplog.set_level(logging.INFO)
    Job(AutoInterval(), KNOWN).save()
    (line,) = caplog.messages
    for words in ("was=10", "bound=optimum", "young_s=189", "exact_s=184", "C=8", "R=300"):
        assert words in line
