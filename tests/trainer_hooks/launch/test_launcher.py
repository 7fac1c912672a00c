"""What a launch does without starting anything."""

import json
import re
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.flags import put_flag
from trainer_hooks.errors import ConfigError
from trainer_hooks.flag import FLAG_NAME, OVERDUE_S
from trainer_hooks.launch import launcher
from trainer_hooks.launch.launcher import launch
from trainer_hooks.launch.report import LaunchReport, nothing_started, write_report
from trainer_hooks.launched import GRACE_VARIABLE
from trainer_hooks.results import RankResult, RankState


class StartedError(Exception):
    """Raised in the place of torchrun."""


@pytest.fixture(autouse=True)
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Look for flags in the test's own directory, and start nothing."""

    def start(*_: object) -> None:
        raise StartedError

    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(tmp_path))
    monkeypatch.setattr(launcher._TORCHRUN, "parse_args", start)
    return tmp_path


def leave(_: LaunchReport) -> NoReturn:
    """Nobody leaves from a thread here."""
    raise AssertionError


def launched() -> LaunchReport:
    """Launch a script."""
    return launch(["train.py"], window_s=120.0, leave=leave)


def test_nothing_is_started_when_a_stop_notice_is_in_force(run_dir: Path) -> None:
    """Preempted before the beginning: 75, with the reason."""
    put_flag(run_dir, notice_id="spot")
    report = launched()
    assert report.exit_code == 75
    assert report.reason == "nothing started: stop notice spot is in force on this node"


@pytest.mark.parametrize("text", ["", "{", '{"schema": 9}'])
def test_nothing_is_started_when_the_flag_cannot_be_read(run_dir: Path, text: str) -> None:
    """Unknown is not clear."""
    (run_dir / FLAG_NAME).write_text(text)
    assert launched().exit_code == 75


def test_launch_starts_when_nothing_forbids_it(run_dir: Path) -> None:
    """No flag, advice, or a notice that the node has long outlived."""
    with pytest.raises(StartedError):
        launched()
    put_flag(run_dir, urgency="advisory")
    with pytest.raises(StartedError):
        launched()
    put_flag(run_dir, left_s=-OVERDUE_S - 5)
    with pytest.raises(StartedError):
        launched()


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
    assert launcher._summary(ranks, None) == (
        "ranks broke off+stopped at step 9, newest checkpoint 6: 3 steps will be done again"
    )
    assert launcher._summary(ranks, "rank 2 exited with 3").endswith("; rank 2 exited with 3")
    assert launcher._summary([None], "why") == "why"
    assert "does not use TrainerHooks" in launcher._summary([None], None)


@pytest.mark.parametrize(
    ("said", "timeout", "grace"),
    [
        ((None, None, None), "115", None),
        ((90.0, None, None), "85", "85"),
        ((3.0, None, None), "1", "1"),
        ((None, 40, None), "115", "40"),
        ((90.0, 40, None), "85", "40"),
        ((30.0, 40, None), "25", "25"),
        ((None, None, "50"), "50", "50"),
        ((90.0, None, "50"), "50", "50"),
        ((90.0, 40, "50"), "50", "40"),
    ],
)
def test_ranks_are_told_their_grace_when_somebody_knows_it(
    monkeypatch: pytest.MonkeyPatch,
    said: tuple[float | None, int | None, str | None],
    timeout: str,
    grace: str | None,
) -> None:
    """By our option, torchrun's option or its variable; the shortest is when they end."""
    window_s, option_s, variable = said
    environ = {} if variable is None else {launcher._TIMEOUT_VARIABLE: variable}
    monkeypatch.setattr("os.environ", environ)
    launcher._set_environment(window_s, option_s)
    assert environ[launcher._TIMEOUT_VARIABLE] == timeout
    assert environ.get(GRACE_VARIABLE) == grace


def test_launch_is_refused_when_torchruns_variable_is_no_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By name, and not as a traceback of torchrun's."""
    monkeypatch.setenv(launcher._TIMEOUT_VARIABLE, "soon")
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    with pytest.raises(ConfigError, match="counts whole seconds, not 'soon'"):
        launcher._set_environment(None, None)


@pytest.mark.parametrize(
    ("nnodes", "nproc_per_node"), [("1", "x"), ("1", "1.5"), ("x", "2"), ("1:2:3", "2")]
)
def test_launch_is_refused_when_a_number_of_ranks_makes_no_sense(
    nnodes: str, nproc_per_node: str
) -> None:
    """As a setting that is wrong, and not as a crash: nobody should start it again in vain."""
    asked = f"--nnodes={nnodes} --nproc-per-node={nproc_per_node}: "
    with pytest.raises(ConfigError, match=re.escape(asked)):
        launcher._ranks(nnodes, nproc_per_node)
