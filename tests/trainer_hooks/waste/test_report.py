"""``reprieve-trainer report``, and a plan from a ledger."""

import json
import re
from pathlib import Path

import pytest

from tests.support.ledgers import begin, example, write
from tests.support.planned import planned, said
from trainer_hooks import cli
from trainer_hooks.phases import Phase
from trainer_hooks.waste.found import Found
from trainer_hooks.waste.ledger import FOLDER, Ledger
from trainer_hooks.waste.phase_spent import PhaseSpent
from trainer_hooks.waste.records import Committed, Outcome, Saved, Steps, to_json
from trainer_hooks.waste.report import BUCKETS, make_report


def test_report_says_where_time_went_when_a_run_was_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each part, each interruption, the checkpoints, and what was measured."""
    example(tmp_path)
    text = said(capsys, "report", str(tmp_path))
    for expected in (
        "30 steps in 10.3 min, 3 starts, 2 interrupted, none paused; the last has finished",
        "Goodput 48.6 % of 1.14 paid GPU-hours",
        "restart: away",
        "C  2 s",
        "3 checkpoints of 3 saves",
        "committed 4.67 s after the stall, 6 s at most",
        "killed            -       24     4",
    ):
        assert expected in text
    assert re.search(r"preempted +8 s +17 +7 +67 s", text)
    assert max(map(len, text.splitlines())) <= 100


def test_report_adds_up_when_it_is_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To 1e-9, all together and in every stretch of time."""
    example(tmp_path)
    report = planned(capsys, "report", str(tmp_path))
    assert sum(report["gpu_s"].values()) == pytest.approx(report["paid_gpu_s"], rel=1e-9)
    assert sum(report["restart_gpu_s"].values()) == pytest.approx(report["gpu_s"]["restart"])
    assert report["goodput"] == report["gpu_s"]["productive"] / report["paid_gpu_s"]
    assert [each["outcome"] for each in report["interruptions"]] == ["preempted", "killed"]
    assert report["measured"]["stall_s"] == 2
    over_time = report["goodput_over_time"]
    assert len(over_time) == BUCKETS
    for bucket in over_time:
        shares = [share for name, share in bucket.items() if name not in {"began", "ended"}]
        assert sum(shares) == pytest.approx(1)


def test_report_names_the_slowest_rank_of_each_phase_when_ranks_have_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over all starts; of each the last word counts."""

    def spent(steps: int, phase: Phase, median_s: float, rank: int = 1) -> PhaseSpent:
        most_s = median_s + steps
        return PhaseSpent(
            at=1500, phase=phase, steps=steps, ranks=3, median_s=median_s, most_s=most_s, rank=rank
        )

    write(
        tmp_path,
        [begin(1, 1000), spent(10, Phase.DATA, 5.0), spent(60, Phase.DATA, 30.0)],
        [begin(2, 2000), spent(40, Phase.DATA, 10.0, rank=2), spent(40, Phase.COMPUTE, 80.0)],
    )
    phases = planned(capsys, "report", str(tmp_path))["step_phases"]
    assert phases == {
        "data": {"median_s": 0.4, "most_s": 1.4, "most_rank": 2, "ranks": 3},
        "compute": {"median_s": 2.0, "most_s": 3.0, "most_rank": 1, "ranks": 3},
    }
    text = said(capsys, "report", str(tmp_path))
    assert "A step by phase, the median of 3 ranks and the one that takes longest" in text
    assert re.search(r"data +0.4 s, 1.4 s on rank 2", text)
    assert re.search(r"compute +2 s, 3 s on rank 1", text)


def test_report_shows_what_guards_have_found_when_they_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which, when and what, over all starts; whatever it says upsets no terminal."""
    attempts = example(tmp_path)
    assert "Found by guards" not in said(capsys, "report", str(tmp_path))
    (path,) = (tmp_path / FOLDER).glob("a1-*.jsonl")
    found = Found(
        at=1190.0, guard="straggler", step=17, text="rank 1 by 0.03 s\x1b[31m" + "x" * 500
    )
    with path.open("a") as file:
        file.write(json.dumps(to_json(found)) + "\n")
    text = said(capsys, "report", str(tmp_path))
    assert (
        "Found by guards\n  1970-01-01 00:19:50 straggler at step 17\n    rank 1 by 0.03 s" in text
    )
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    report = planned(capsys, "report", str(tmp_path))
    assert report["findings"] == [
        {"at": 1190.0, "guard": "straggler", "step": 17, "text": found.text}
    ]
    assert report["interruptions"][0]["parts_s"] == pytest.approx(
        {"away": 22, "waiting": 30, "init": 8, "load": 7}
    )
    assert "after the notice stopped 7 s, left 8 s" in text
    assert "back by away 22 s, waiting 30 s, init 8 s, load 7 s" in text
    assert len(attempts) == 3


@pytest.mark.parametrize(("gpus", "whose"), [(1, ""), (8, ", of rank 0 alone")])
def test_report_says_whose_steps_are_shown_when_no_guards_tell_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gpus: int, whose: str
) -> None:
    """A job of one rank has no others."""
    spent = PhaseSpent(
        at=1500, phase=Phase.DATA, steps=10, ranks=1, median_s=5.0, most_s=5.0, rank=0
    )
    write(tmp_path, [begin(1, 1000, gpus=gpus), spent])
    assert f"A step by phase{whose}\n  data " in said(capsys, "report", str(tmp_path))


def test_report_is_short_when_a_run_has_only_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is not known is not made up."""
    write(tmp_path, [begin(1, 1000.0)])
    text = said(capsys, "report", str(tmp_path))
    assert "C, D, R and M are not known yet" in text
    assert "0 checkpoints of 0 saves" in text
    assert planned(capsys, "report", str(tmp_path))["measured"] is None


def test_slow_storage_is_named_when_commits_outlast_the_interval(tmp_path: Path) -> None:
    """Two of three came after the next save had begun; the last was never committed."""
    records = [begin(1, 1000.0)]
    saves = [Saved(step=s, began=1000 + 10.0 * s, ended=1001 + 10.0 * s) for s in range(1, 5)]
    commits = [Committed(step=s, at=1000 + 10.0 * s + lag) for s, lag in ((1, 12), (2, 9), (3, 30))]
    write(tmp_path, [*records, *saves, *commits])
    health = make_report(tmp_path).health
    assert (health.saves, health.commits, health.uncommitted, health.outlasted) == (4, 3, 1, 2)
    assert health.mean_interval_s == 10
    assert health.longest_lag_s == 29


def test_report_names_the_worst_when_more_than_a_third_is_wasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Waste is no fate."""
    write(tmp_path, [begin(1, 1000.0), Steps(first=0, end=5, began=1900, ended=2000)])
    assert "most of it on restart: that is where to begin" in said(capsys, "report", str(tmp_path))


def test_plan_takes_what_was_measured_when_it_is_given_a_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its uncertainty; what is given all the same wins."""
    example(tmp_path)
    ledger = ["plan", "--ledger", str(tmp_path), "--runs", "0"]
    plan = planned(capsys, *ledger)
    origins = plan["inputs"]["origins"]
    assert [origins[letter] for letter in "MCDR"] == ["measured"] * 4
    assert (plan["inputs"]["stall_s"], plan["inputs"]["gpus_per_node"]) == (2, 4)
    low, high = plan["inputs"]["job_mtbi_90_percent_s"]
    assert low < plan["job_mtbi_s"] < high
    assert "M is between" in said(capsys, *ledger)
    given = planned(capsys, *ledger, "--stall", "8", "--job-mtbi", "2250")
    assert (given["job_mtbi_s"], given["inputs"]["origins"]["C"]) == (2250, "given")
    assert given["inputs"]["job_mtbi_90_percent_s"] is None


def test_plan_says_what_is_missing_when_a_ledger_is_too_young(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is assumed of C or M."""
    write(tmp_path, [begin(1, 1000.0)])
    assert cli.run(["plan", "--ledger", str(tmp_path)]) == 78
    assert "needs C" in capsys.readouterr().err
    assert cli.run(["plan", "--ledger", str(tmp_path), "--stall", "8"]) == 78
    assert "needs M" in capsys.readouterr().err


def test_nothing_is_called_measured_when_nothing_has_been_interrupted_yet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A restart of 0 s would be a fine one, and a calm afternoon is no measured M."""
    saved = Saved(step=10, began=1101, ended=1103, waited_s=0)
    write(tmp_path, [begin(1, 1000), Steps(first=0, end=10, began=1001, ended=1101), saved])
    ledger = ["plan", "--ledger", str(tmp_path), "--runs", "0"]
    inputs = planned(capsys, *ledger)["inputs"]
    origins = {letter: inputs["origins"][letter] for letter in "MCDR"}
    assert origins == {"M": "assumed", "C": "measured", "D": "assumed", "R": "assumed"}
    assert inputs["restart_s"] == 300
    assert "no interruption has come yet" in said(capsys, *ledger)
    report = said(capsys, "report", str(tmp_path))
    assert "between interruptions, of none yet" in report
    assert re.search(r"R +not known +restart, of none yet", report)


def test_command_is_refused_when_there_is_no_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With where one would be."""
    assert cli.run(["report", str(tmp_path)]) == 78
    assert "there is no ledger in" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["report.png", "report.html"])
def test_picture_is_drawn_when_it_is_asked_for(tmp_path: Path, name: str) -> None:
    """For a whole run, and for one that has only begun."""
    example(tmp_path)
    path = tmp_path / name
    assert cli.run(["report", str(tmp_path), "--plot", str(path)]) == 0
    assert path.stat().st_size > 10_000
    write(tmp_path / "young", [begin(1, 1000.0)])
    assert cli.run(["report", str(tmp_path / "young"), "--plot", str(path)]) == 0


def test_report_is_json_that_others_can_read_when_it_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No NaN, no infinity."""
    example(tmp_path)
    text = said(capsys, "report", str(tmp_path), "--json")

    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    json.loads(text, parse_constant=refuse)


def test_report_is_whole_when_the_run_is_writing_its_ledger(tmp_path: Path) -> None:
    """At every look: what is there adds up, and nothing that was there is gone at the next."""
    ledger = Ledger(tmp_path, begin(1, 1000.0))
    seen = 0
    for step in range(300):
        at = 1000.0 + 10 * step
        ledger.note_step(step, at, at + 9)
        ledger.note_save(step + 1, at + 9, at + 10)
        ledger.note_commit(step + 1, at + 10)
        if step % 10 == 9:
            report = make_report(tmp_path) if any((tmp_path / FOLDER).glob("a*")) else None
            if report is None:
                continue
            accounts = report.accounts
            assert accounts.paid == pytest.approx(8 * (report.ended - report.began), rel=1e-9)
            assert report.torn_lines <= 1
            assert report.steps >= seen
            seen = report.steps
    ledger.close(Outcome.FINISHED, 300)
    assert make_report(tmp_path).steps == 300
