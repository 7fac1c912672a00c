"""What a trainer says of itself: the golden file, its signs of life, and nothing that hurts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import wait_until
from trainer_hooks import status
from trainer_hooks.clock import boot_id, boottime_s
from trainer_hooks.phases import MOST_HERE, PhaseTimes
from trainer_hooks.status import Progress, Speaker, Status, TrainerState, compose

GOLDEN = Path(__file__).parents[1] / "contract" / "trainer_v1.json"


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory, which is there before anybody trains."""
    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(tmp_path))
    directory = tmp_path / "trainers"
    directory.mkdir()
    return directory


def words(directory: Path) -> dict[str, Any]:
    """Return what the only trainer says; nothing while none says anything."""
    paths = list(directory.glob("*.json"))
    found: dict[str, Any] = json.loads(paths[0].read_text()) if paths else {}
    return found


def test_file_is_the_golden_one() -> None:
    """The watcher's tests read exactly this file."""
    boot, pod = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f", "0f8fad5b-d9cb-469f-a165-70867728950e"
    me = Speaker(boot, pod, "0.1.0")
    progress = Progress(
        step=1200,
        stop_step=1201,
        committed_step=1100,
        committed_at=1_796_033_091.5,
        stall_s=0.25,
        commit_lag_s=8.5,
        step_s=0.5,
        save_every_steps=100,
        attempt=3,
        noticed_at=1_796_033_106.125,
        stopped_at=1_796_033_107.25,
        verified_at=1_796_031_600.0,
        paid_gpu_s=9600.0,
        productive_gpu_s=8000.0,
        straggler_score=1.5,
        straggler_s=0.03,
        ranks=(
            PhaseTimes(steps=200, data_s=12.5, compute_s=80.0, save_s=0.5),
            PhaseTimes(steps=199, data_s=None, compute_s=92.25, save_s=0.5),
        ),
        grace_s=115.0,
    )
    assert compose(me, TrainerState.STOPPING, progress, 5001.25) == GOLDEN.read_bytes()


def test_file_is_as_small_as_the_watcher_wants_when_a_node_has_many_ranks() -> None:
    """It reads 4096 bytes (docs/contracts.md)."""
    rank = PhaseTimes(steps=123_456_789, data_s=1e7, compute_s=1e8 + 0.125, save_s=1e7)
    progress = Progress(step=123_456_789, ranks=(rank,) * (MOST_HERE + 9))
    said = compose(Speaker("b" * 36, "p" * 36, "10.20.30rc1"), TrainerState.STOPPING, progress, 5e7)
    assert len(json.loads(said)["ranks"]) == MOST_HERE
    assert len(said) < 4096


def test_trainer_tells_how_it_is_at_every_change(
    said: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running, stopping once a stop is agreed, saved, and at last exited."""
    monkeypatch.setenv("REPRIEVE_POD_UID", "pod-1")
    now = Progress(step=7)
    telling = Status(lambda: now)
    telling.start()
    wait_until(lambda: words(said))
    assert words(said)["state"] == "running"
    assert words(said)["step"] == 7
    assert words(said)["pod_uid"] == "pod-1"
    assert words(said)["boot_id"] == boot_id()
    assert words(said)["heartbeat_boottime_s"] <= boottime_s()
    now = Progress(step=8, stop_step=9)
    telling.nudge()
    wait_until(lambda: words(said)["state"] == "stopping")
    telling.reach(TrainerState.SAVED)
    wait_until(lambda: words(said)["state"] == "saved")
    telling.close()
    assert words(said)["state"] == "exited"


def test_trainer_gives_signs_of_life_by_itself(said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its main thread does."""
    monkeypatch.setattr(status, "BEAT_S", 0.01)
    telling = Status(lambda: Progress(step=0))
    telling.start()
    wait_until(lambda: words(said))
    first = words(said)["heartbeat_boottime_s"]
    wait_until(lambda: words(said)["heartbeat_boottime_s"] > first)
    telling.close()


def test_only_the_first_rank_of_a_node_tells(said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file a node and job is enough."""
    monkeypatch.setenv("LOCAL_RANK", "1")
    telling = Status(lambda: Progress(step=0))
    telling.start()
    telling.close()
    assert list(said.iterdir()) == []


def test_nothing_is_told_when_there_is_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens there, and nobody is warned of it."""
    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(tmp_path))
    telling = Status(lambda: Progress(step=0))
    telling.start()
    telling.close()
    assert list(tmp_path.iterdir()) == []


def test_training_goes_on_when_the_directory_can_not_be_written(
    said: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, and tried again."""
    telling = Status(lambda: Progress(step=0))
    telling.start()
    wait_until(lambda: words(said))
    (path,) = said.glob("*.json")
    path.unlink()
    (path / "in the way").mkdir(parents=True)
    for _ in range(2):
        telling.nudge()
        wait_until(lambda: "not told" in caplog.text)
    (path / "in the way").rmdir()
    path.rmdir()
    telling.close()
    assert words(said)["state"] == "exited"
    assert caplog.text.count("not told") == 1


def test_old_files_of_earlier_starts_are_removed_and_no_others(
    said: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a pod that is restarted again and again fills the directory, nor one pod a job."""
    monkeypatch.setenv("REPRIEVE_POD_UID", "pod-1")
    hour_s, week_s = 3600, 7 * 86400
    for name, age_s in (
        ("t-pod-1-5.json", hour_s),
        (".t-pod-1-5.json.new", hour_s),
        ("t-pod-1-6.json", 0),
        (".t-pod-1-6.json.new", 0),
        ("t-pod-2-5.json", hour_s),
        (".t-pod-2-5.json.new", hour_s),
        ("t-pod-3-5.json", week_s),
        (".t-pod-3-5.json.new", week_s),
        ("another-program.json", week_s),
    ):
        path = said / name
        path.write_text("{}")
        now = path.stat().st_mtime
        os.utime(path, (now - age_s, now - age_s))
    telling = Status(lambda: Progress(step=0))
    telling.start()
    telling.close()
    left = {"t-pod-1-6.json", "t-pod-2-5.json", f"t-pod-1-{os.getpid()}.json"}
    left |= {".t-pod-1-6.json.new", ".t-pod-2-5.json.new", "another-program.json"}
    assert {path.name for path in said.iterdir()} == left
