"""How a launch ended, for people and for programs."""

import json
from pathlib import Path

from trainer_hooks.launch.report import LaunchReport, nothing_started, summary, write_report
from trainer_hooks.results import RankResult, RankState


def test_report_says_how_each_rank_ended_when_it_is_written(tmp_path: Path) -> None:
    """For programs: the demo and the drill read it."""
    result = RankResult(
        state=RankState.SAVED, pid=7, rank=0, step=9, committed_step=6, instants={"agreed": 1.5}
    )
    report = LaunchReport(exit_code=75, reason="saved", results=[result, None])
    write_report(report, tmp_path / "report.json")
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["exit_code"] == 75
    assert data["results"][0]["state"] == "saved"
    assert data["results"][0]["instants"] == {"agreed": 1.5}
    assert data["results"][1] is None


def test_report_is_a_preemption_when_nothing_was_started() -> None:
    """Whatever came before."""
    assert nothing_started("told to stop").exit_code == 75


def test_summary_names_states_and_steps_when_ranks_have_left_word() -> None:
    """And torchrun's complaint, if it had one."""

    def result(state: RankState, step: int, committed: int | None) -> RankResult:
        return RankResult(state=state, pid=1, rank=0, step=step, committed_step=committed)

    ranks = [result(RankState.SAVED, 9, 6), None, result(RankState.RUNNING, 8, None)]
    assert summary(ranks, None) == (
        "ranks broke off+stopped at step 9, newest checkpoint 6: 3 steps will be done again"
    )
    assert summary(ranks, "rank 2 exited with 3").endswith("; rank 2 exited with 3")
    assert summary([None], "why") == "why"


def test_summary_says_no_step_that_it_cannot_know_when_ranks_broke_off() -> None:
    """Their word is from when they began; what has been committed since lies beside the others."""
    running = RankResult(
        state=RankState.RUNNING, pid=1, rank=0, step=20, committed_step=None, root="/runs/a b"
    )
    said = summary([running, None], "stopped by SIGINT")
    assert said == (
        "ranks broke off without a word since they began at step 20; the newest checkpoint "
        "counts (reprieve-trainer checkpoints ls '/runs/a b'); stopped by SIGINT"
    )


def test_summary_is_torchruns_word_when_no_rank_has_left_any() -> None:
    """Or that the script is none of ours."""
    assert summary([None], "why") == "why"
    assert "does not use TrainerHooks" in summary([None], None)
