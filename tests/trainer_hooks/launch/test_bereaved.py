"""Leaving for an agent that hangs: only when all its ranks have gone, and one has lost a peer."""

import os
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from trainer_hooks.launch import bereaved
from trainer_hooks.launch.bereaved import Bereaved
from trainer_hooks.launch.report import LaunchReport
from trainer_hooks.results import RankResult, RankState, write_result


@pytest.fixture
def gone() -> int:
    """The pid of a process that has ended, and that nobody has waited for."""
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    return process.pid


def result(state: RankState, pid: int) -> RankResult:
    """Return a rank's last word."""
    return RankResult(state=state, pid=pid, rank=0, step=5, committed_step=None)


class Watched:
    """A launcher whose agent does not come back."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reports: list[LaunchReport] = []
        self.looks = threading.Semaphore(0)
        self.has_left = threading.Event()
        self._judge = bereaved._have_all_left
        monkeypatch.setattr(bereaved, "LOOK_EVERY_S", 0.01)
        monkeypatch.setattr(bereaved, "_have_all_left", self._look)
        self.watcher = Bereaved(directory, 2, self._leave, patience_s=0.05)
        self.watcher.start()

    def _look(self, results: list[RankResult | None]) -> bool:
        self.looks.release()
        return self._judge(results)

    def _leave(self, report: LaunchReport) -> None:
        self.reports.append(report)
        self.has_left.set()

    def look(self, times: int) -> None:
        """Wait until it has looked so often."""
        for _ in range(times):
            assert self.looks.acquire(timeout=20)


def test_launcher_leaves_with_76_when_its_ranks_have_lost_a_peer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    """One saw the loss, the other one had just finished; both have ended."""
    write_result(tmp_path, 0, result(RankState.LOST, gone))
    write_result(tmp_path, 1, result(RankState.FINISHED, gone))
    watched = Watched(tmp_path, monkeypatch)
    assert watched.has_left.wait(20)
    assert [report.exit_code for report in watched.reports] == [76]
    assert [r and r.state for r in watched.reports[0].results] == [
        RankState.LOST,
        RankState.FINISHED,
    ]


@pytest.mark.parametrize("case", ["alive", "silent", "no loss"])
def test_launcher_stays_when_it_is_not_known_that_all_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: int, case: str
) -> None:
    """A rank lives, or has said nothing, or none has lost a peer."""
    lost = result(RankState.LOST, gone)
    write_result(tmp_path, 0, lost if case != "no loss" else replace(lost, state=RankState.SAVED))
    if case != "silent":
        pid = os.getpid() if case == "alive" else gone
        write_result(tmp_path, 1, result(RankState.SAVED, pid))
    watched = Watched(tmp_path, monkeypatch)
    watched.look(20)
    watched.watcher.close()
    watched.watcher._thread.join(20)
    assert watched.reports == []
