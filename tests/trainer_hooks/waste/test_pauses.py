"""A person's stop, and launching again: no interruption, no restart, no waste."""

import re
from pathlib import Path

import pytest

from tests.support.ledgers import begin, write
from tests.support.planned import planned, said
from trainer_hooks.waste.account import Kind, account, timeline
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.history import history
from trainer_hooks.waste.interruptions import interruptions
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.pauses import Pause, pauses
from trainer_hooks.waste.records import Committed, End, Outcome, Part, Saved, Spent, Steps

NIGHT_S = 40_000


def paused(root: Path, outcome: Outcome = Outcome.STOPPED) -> tuple[Attempt, ...]:
    """Write and read a run that was left at step 10, and launched again the next morning."""
    morning = 1150 + NIGHT_S
    write(
        root,
        [
            begin(1, 1000),
            Steps(first=0, end=1, began=1040, ended=1050),
            Steps(first=1, end=10, began=1050, ended=1140),
            Saved(step=10, began=1140, ended=1142),
            Committed(step=10, at=1146),
            End(at=1150, outcome=outcome, step=10),
        ],
        [
            begin(2, morning, resumed_step=10, gpus=4),
            Spent(part=Part.LOAD, began=morning + 5, ended=morning + 9),
            Steps(first=10, end=11, began=morning + 20, ended=morning + 30),
            Steps(first=11, end=20, began=morning + 30, ended=morning + 120),
        ],
    )
    return read_ledger(root)


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.FINISHED, Outcome.DRILLED])
def test_nobody_pays_when_a_person_lets_the_run_be(tmp_path: Path, outcome: Outcome) -> None:
    """The night is apart; what the next start takes until its first step is paid all the same."""
    attempts = paused(tmp_path, outcome)
    segments = timeline(attempts)
    accounts = account(segments)
    assert accounts.paused_s == NIGHT_S
    assert accounts.paid == 8 * 150 + 4 * 120
    assert accounts.kinds[Kind.RESTART] == 8 * 40 + 4 * 20
    assert accounts.parts[Part.AWAY] == 0
    assert Kind.PAUSED not in accounts.kinds
    assert pauses(attempts, segments) == (
        Pause(attempt=1, at=1150, outcome=outcome, at_step=10, resumed_step=10, paused_s=NIGHT_S),
    )


def test_person_is_no_interruption_when_m_and_r_are_measured(tmp_path: Path) -> None:
    """And the start after the pause is no restart: it says nothing of what comes before one."""
    attempts = paused(tmp_path)
    segments = timeline(attempts)
    found = history(attempts, segments)
    assert interruptions(attempts, segments) == ()
    assert [uptime.is_interrupted for uptime in found.uptimes] == [False, False]
    assert found.restarts_s == ()


def test_report_shows_a_drill_apart_from_pauses_and_interruptions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rehearsal is neither, and M and R know nothing of it."""
    attempts = paused(tmp_path, Outcome.DRILLED)
    text = said(capsys, "report", str(tmp_path))
    assert "2 starts, none interrupted, none paused, 1 drilled; the last has no end yet" in text
    assert "Drilled, and launched again after 11.1 h: in no bill, no M and no R" in text
    assert re.search(r"a drill +at step 10, launched again 11.1 h later at step 10", text)
    assert "Paused" not in text
    report = planned(capsys, "report", str(tmp_path))
    assert (report["interruptions"], report["pauses"][0]["outcome"]) == ([], "drilled")
    found = history(attempts, timeline(attempts))
    assert [uptime.is_interrupted for uptime in found.uptimes] == [False, False]
    assert found.restarts_s == ()


def test_restart_is_measured_again_when_an_interruption_follows_the_pause(tmp_path: Path) -> None:
    """From the pause on all is as at the first start."""
    attempts = paused(tmp_path)
    killed_at = attempts[-1].last_at
    third = Attempt(
        begin=begin(3, killed_at + 100, resumed_step=20),
        steps=[Steps(first=20, end=21, began=killed_at + 130, ended=killed_at + 140)],
    )
    everything = (*attempts, third)
    assert history(everything, timeline(everything)).restarts_s == (130,)


def test_start_that_a_person_stopped_is_no_part_of_a_restart_when_it_never_ran() -> None:
    """Killed, started, stopped before a step, launched: how long that took is the person's."""
    first = Attempt(begin=begin(1, 1000), steps=[Steps(first=0, end=9, began=1000, ended=1100)])
    never = Attempt(begin=begin(2, 1150), end=End(at=1160, outcome=Outcome.STOPPED, step=0))
    last = Attempt(begin=begin(3, 9000), steps=[Steps(first=0, end=1, began=9010, ended=9020)])
    attempts = (first, never, last)
    assert history(attempts, timeline(attempts)).restarts_s == ()
    assert account(timeline(attempts)).paused_s == 9000 - 1160


def test_report_shows_the_pause_apart_when_there_was_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words and in JSON, which add up without it."""
    paused(tmp_path)
    text = said(capsys, "report", str(tmp_path))
    assert "2 starts, none interrupted, 1 paused; the last has no end yet" in text
    assert "Paused for 11.1 h, which nobody has paid for" in text
    assert re.search(r"stopped +at step 10, launched again 11.1 h later at step 10", text)
    assert "away" not in text
    assert max(map(len, text.splitlines())) <= 100
    report = planned(capsys, "report", str(tmp_path))
    assert report["paused_s"] == NIGHT_S
    assert report["interruptions"] == []
    assert report["pauses"][0]["outcome"] == "stopped"
    assert sum(report["gpu_s"].values()) == pytest.approx(report["paid_gpu_s"], rel=1e-9)
    for bucket in report["goodput_over_time"]:
        shares = [share for name, share in bucket.items() if name not in {"began", "ended"}]
        assert sum(shares) == pytest.approx(1)
