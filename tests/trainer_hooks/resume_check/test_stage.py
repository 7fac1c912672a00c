"""The stage: nothing is awaited for ever, no failure is missed, no process is left."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from trainer_hooks.resume_check import stage as stage_module
from trainer_hooks.resume_check.stage import Child, Failed, Stage, bearers

pytestmark = pytest.mark.ranks

LIMIT_S = 20.0


def shell(stage: Stage, script: str, log: Path, *, ends_with: int | None = None) -> Child:
    """Start a shell on the stage."""
    return stage.start(
        "the shell", ["/bin/sh", "-c", script], log, variables={}, ends_with=ends_with
    )


def said(child: Child, line: str) -> Callable[[], bool | None]:
    """Return a look at whether a process has said something."""
    return lambda: line in child.log.read_text(encoding="utf-8") or None


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_stage_gives_what_was_found_when_a_process_does_its_part(tmp_path: Path) -> None:
    """Waiting ends with the first thing found, and the display is served meanwhile."""
    ticks: list[int] = []
    with Stage(lambda: ticks.append(1)) as stage:
        child = shell(stage, "echo hello; sleep 60", tmp_path / "log")
        assert stage.wait(child, "a word", said(child, "hello"), LIMIT_S)
    assert ticks


def test_stage_accepts_an_end_when_it_is_the_expected_one(tmp_path: Path) -> None:
    """A job that exits 75 has done what it was started for; waiting for others goes on."""
    with Stage(lambda: None) as stage:
        job = shell(stage, "exit 75", tmp_path / "job", ends_with=75)
        server = shell(stage, "sleep 0.3; echo ready; sleep 60", tmp_path / "server")
        assert stage.wait(job, "its end", lambda: job.has_ended or None, LIMIT_S)
        assert stage.wait(server, "a word", said(server, "ready"), LIMIT_S)


@pytest.mark.parametrize(("code", "ends_with"), [(1, 75), (0, 75), (0, None)])
def test_stage_fails_at_once_when_any_process_ends_otherwise(
    tmp_path: Path, code: int, ends_with: int | None
) -> None:
    """Code 0 is wrong, too, where 75 is due; the failure names process, code and log."""
    with Stage(lambda: None) as stage:
        waiting = shell(stage, "sleep 60", tmp_path / "waiting")
        shell(stage, f"exit {code}", tmp_path / "broken", ends_with=ends_with)
        with pytest.raises(
            Failed, match=rf"ended with code {code}\b.* while a word was"
        ) as failure:
            stage.wait(waiting, "a word", lambda: None, LIMIT_S)
    assert failure.value.log == tmp_path / "broken"


def test_stage_fails_when_the_limit_is_over(tmp_path: Path) -> None:
    """A process that hangs holds nobody for ever."""
    with Stage(lambda: None) as stage:
        child = shell(stage, "sleep 60", tmp_path / "log")
        with pytest.raises(Failed, match="a word did not come from the shell") as failure:
            stage.wait(child, "a word", lambda: None, 0.1)
    assert failure.value.log == child.log


def test_stage_minds_no_end_when_it_has_asked_for_it(tmp_path: Path) -> None:
    """A server that was told to end is no failure afterwards."""
    with Stage(lambda: None) as stage:
        server = shell(stage, "sleep 60", tmp_path / "server")
        stage.end(server)
        other = shell(stage, "echo ready; sleep 60", tmp_path / "other")
        assert stage.wait(other, "a word", said(other, "ready"), LIMIT_S)


def test_stage_leaves_no_process_when_the_one_between_was_killed(tmp_path: Path) -> None:
    """A grandchild in a session of its own, as torchrun's ranks are, outlives its parent only."""
    script = f"setsid {sys.executable} -c 'import time; time.sleep(60)' & echo $! $$; wait"
    with Stage(lambda: None) as stage:
        parent = shell(stage, script, tmp_path / "log", ends_with=-signal.SIGKILL)
        stage.wait(parent, "two pids", said(parent, "\n"), LIMIT_S)
        rank, between = map(int, parent.log.read_text(encoding="utf-8").split())
        os.kill(between, signal.SIGKILL)
        stage.wait(parent, "its end", lambda: parent.has_ended or None, LIMIT_S)
        assert is_alive(rank)
    assert not is_alive(rank)


def test_stage_kills_when_a_process_does_not_heed_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit between SIGTERM and SIGKILL is kept."""
    monkeypatch.setattr(stage_module, "ENDING_LIMIT_S", 0.2)
    script = "trap '' TERM; echo $$; while :; do sleep 1; done"
    with Stage(lambda: None) as stage:
        deaf = shell(stage, script, tmp_path / "log")
        stage.wait(deaf, "its pid", said(deaf, "\n"), LIMIT_S)
        pid = int(deaf.log.read_text(encoding="utf-8"))
    assert not is_alive(pid)


def test_stage_ends_everything_when_it_is_left_by_ctrl_c(tmp_path: Path) -> None:
    """An exception on the way is the usual way out of long work."""
    stage = Stage(lambda: None)

    def play() -> None:
        with stage:
            shell(stage, "sleep 60", tmp_path / "log")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play()
    assert bearers(stage._token) == []


def test_process_sees_no_setting_of_ours_when_the_user_has_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on a stage never touches the run directory of the machine it is tried on."""
    monkeypatch.setenv("REPRIEVE_RUN_DIR", "/run/reprieve")
    monkeypatch.setenv("REPRIEVE_SIGNAL_PID_FILE", "/run/trainer.pid")
    variables: Mapping[str, str] = {"REPRIEVE_RUN_DIR": str(tmp_path)}
    with Stage(lambda: None) as stage:
        child = stage.start(
            "env", ["/usr/bin/env"], tmp_path / "log", variables=variables, ends_with=0
        )
        stage.wait(child, "its end", lambda: child.has_ended or None, LIMIT_S)
    ours = [line for line in child.log.read_text(encoding="utf-8").split() if "REPRIEVE" in line]
    assert ours == [f"REPRIEVE_RUN_DIR={tmp_path}"]


def test_bearers_are_none_when_a_process_merely_mentions_the_token(tmp_path: Path) -> None:
    """Only a whole variable of that name and value makes a process ours to kill."""
    stage = Stage(lambda: None)
    with Stage(lambda: None) as other:
        variables = {"OTHER": f"STAGED_BY={stage._token}"}
        child = other.start("env", ["/bin/sleep", "60"], tmp_path / "log", variables=variables)
        assert bearers(stage._token) == []
        assert not child.has_ended
