"""The trainers' series, as a scrape shows them: current, bounded, and gone with their trainers."""

from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import generate_latest

from tests.support.clocks import TurnedClock
from tests.support.standings import admitted, in_force
from tests.support.trainers import trainer
from watcher.faces.trainer_watch import KEPT_S, TrainerWatch
from watcher.metrics import Metrics
from watcher.notice import NoticeKind
from watcher.state import State
from watcher.trainer_figures import TrainerFigures
from watcher.trainers import FILE_LIMIT, Trainer, Trainers, TrainerState

FIGURES = TrainerFigures(
    stall_s=0.25,
    commit_lag_s=8.5,
    step_s=0.5,
    save_every_steps=100,
    attempt=3,
    verified_at=1_796_031_600,
    paid_gpu_s=9600,
    productive_gpu_s=8000,
    straggler_score=1.25,
    straggler_s=0.125,
)


class Scraped:
    """A watch over trainers, and what a scrape of it shows."""

    def __init__(self, clock: TurnedClock) -> None:
        self.metrics, self.state, self.clock = Metrics(), State(), clock
        self.watch = TrainerWatch(self._look, self.state, self.metrics, clock)

    async def _look(self) -> Trainers:
        return Trainers()

    def saw(self, *found: Trainer, **said: Any) -> None:  # noqa: ANN401 - the fields of Trainers
        """Let a look find them."""
        self.watch.note(Trainers(found=found, **said))

    def value(self, name: str, **labels: str) -> float | None:
        """Return a sample's value; None where there is no such series."""
        return self.metrics.registry.get_sample_value(f"reprieve_{name}", labels)

    def of(self, name: str, label: str = "0") -> float | None:
        """Return a trainer's sample."""
        return self.value(f"trainer_{name}", trainer=label)


@pytest.fixture
def scraped(clock: TurnedClock) -> Scraped:
    """A watch that has seen nobody yet."""
    return Scraped(clock)


def test_series_show_what_the_trainer_has_said(scraped: Scraped) -> None:
    """Instants as Unix seconds, so that an age is one subtraction in the query."""
    scraped.saw(trainer(beat_s=-1.5, committed_s=-14.5, figures=FIGURES))
    wall = scraped.clock().wall.timestamp()
    shown = {
        "heartbeat_timestamp_seconds": wall - 1.5,
        "first_seen_timestamp_seconds": wall,
        "attempt": 3,
        "step": 7,
        "step_seconds": 0.5,
        "committed_step": 5,
        "last_commit_timestamp_seconds": wall - 14.5,
        "save_stall_seconds": 0.25,
        "commit_lag_seconds": 8.5,
        "save_interval_steps": 100,
        "verified_timestamp_seconds": 1_796_031_600,
        "paid_gpu_seconds": 9600,
        "productive_gpu_seconds": 8000,
        "straggler_score": 1.25,
        "straggler_seconds": 0.125,
    }
    assert {name: scraped.of(name) for name in shown} == shown
    states = {
        state: scraped.value("trainer_state", trainer="0", state=state) for state in TrainerState
    }
    assert states == {"running": 1, "stopping": 0, "saved": 0, "exited": 0}


def test_series_are_absent_where_nothing_was_said(scraped: Scraped) -> None:
    """Nobody takes a 0 for a commit in 1970, or for a rank without a delay."""
    scraped.saw(trainer())
    for name in ("last_commit_timestamp_seconds", "verified_timestamp_seconds", "straggler_score"):
        assert scraped.of(name) is None


def test_series_go_when_the_trainer_is_silent_or_its_file_is_gone(scraped: Scraped) -> None:
    """How it has ended is shown for a minute, for who scrapes every half."""
    scraped.saw(trainer(state=TrainerState.EXITED))
    scraped.clock.turn(KEPT_S)
    assert scraped.value("trainer_state", trainer="0", state="exited") == 1
    scraped.clock.turn(0.1)
    assert scraped.of("step") is None
    scraped.saw(trainer(beat_s=KEPT_S))
    assert scraped.of("step") == 7
    scraped.saw()
    assert scraped.of("step") is None


def test_trainers_stay_when_a_look_could_not_see_all(scraped: Scraped) -> None:
    """Unknown is not gone; and it shows."""
    scraped.saw(trainer("a"))
    scraped.saw(trainer("b"), unknown="it hangs", refused={"x.json": "no JSON"})
    assert (scraped.of("step", "0"), scraped.of("step", "1")) == (7, 7)
    assert scraped.value("trainers_unknown") == 1
    assert scraped.value("trainer_files_refused") == 1
    scraped.saw(trainer("b"))
    assert (scraped.of("step", "0"), scraped.value("trainers_unknown")) == (None, 0)


def test_memory_is_bounded_when_more_files_than_a_look_sees_change_their_names(
    scraped: Scraped,
) -> None:
    """Of 300 files with other names at each look 256 are seen; those of long ago are forgotten."""
    scraped.saw(trainer("honest"))
    for look in range(20):
        crowd = [trainer(f"evil-{look}-{number}") for number in range(255)]
        scraped.saw(trainer("honest"), *crowd, unknown="more than 256 files in trainers/")
    assert scraped.of("step", "0") == 7
    assert len(scraped.watch._found) == FILE_LIMIT


def test_starts_are_counted_from_the_second_look_on(scraped: Scraped) -> None:
    """Those that a restarted watcher finds have begun before; each other one counts once."""
    scraped.saw(trainer("a"))
    scraped.saw(trainer("a"), trainer("b"))
    scraped.saw(trainer("a"), trainer("b"))
    scraped.saw(trainer("c"))
    assert scraped.value("trainer_starts_total") == 2


def test_worst_is_shown_when_trainers_share_a_label(scraped: Scraped) -> None:
    """The oldest commit and the longest stall of those beyond the labels."""
    crowd = [
        trainer(
            f"t{number:03d}",
            committed_s=-number,
            figures=replace(FIGURES, stall_s=number, step_s=None),
        )
        for number in range(100)
    ]
    scraped.saw(*crowd)
    wall = scraped.clock().wall.timestamp()
    assert scraped.of("last_commit_timestamp_seconds", "other") == wall - 99
    assert scraped.of("save_stall_seconds", "other") == 99
    assert scraped.value("trainer_state", trainer="other", state="running") == 36
    assert scraped.value("trainer_info", trainer="other", pod_uid="") is None


def test_series_are_bounded_and_clean_when_everybody_writes(scraped: Scraped) -> None:
    """256 files with names and pods of anybody's making are at most 65 labels, and no text."""
    evil = 'x"} 1\nreprieve_source_up{source="aws_imds"} 1 \x1b[2J\u202e'
    crowd = [
        replace(trainer(f"{number}-evil", figures=FIGURES), pod_uid=evil * 2)
        for number in range(256)
    ]
    scraped.saw(*crowd)
    text = generate_latest(scraped.metrics.registry).decode()
    assert "evil" not in text
    assert "\x1b" not in text
    assert "source_up{" not in text
    lines = [line for line in text.splitlines() if line.startswith("reprieve_trainer_")]
    assert len({line.split('trainer="')[1].split('"')[0] for line in lines if "{" in line}) == 65
    pods = [line for line in lines if line.startswith("reprieve_trainer_info{")]
    assert len(pods) == 64
    assert all(len(line) < 150 for line in pods)


def test_notices_in_force_are_shown_by_kind_and_urgency(scraped: Scraped) -> None:
    """Every pair has a series from the start, so that an alert can tell 0 from nothing."""
    drill = {"kind": "drill", "urgency": "stop"}
    assert scraped.value("notices_in_force", **drill) == 0
    admitted(scraped.state, in_force(), in_force("drill-1", NoticeKind.DRILL))
    assert scraped.value("notices_in_force", **drill) == 1
    assert scraped.value("notices_in_force", kind="preemption", urgency="stop") == 1


def test_version_is_shown_when_it_was_told() -> None:
    """As a label, for joins."""
    metrics = Metrics()
    metrics.tell_version()
    assert 'reprieve_build_info{version="' in generate_latest(metrics.registry).decode()
