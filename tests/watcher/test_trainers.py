"""What trainers say of themselves: the golden file, and everything that must not be believed."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from watcher import trainers
from watcher.trainer_figures import figures_of
from watcher.trainers import FRESH_S, Trainer, TrainerState, read_trainers

GOLDEN = Path(__file__).parents[1] / "contract" / "trainer_v1.json"
BOOT_ID = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"


@pytest.fixture
def said(tmp_path: Path) -> Path:
    """Return the directory in which trainers say how they are."""
    directory = tmp_path / "trainers"
    directory.mkdir()
    return directory


def golden(**changes: object) -> bytes:
    """Return the golden file with changes."""
    document: dict[str, Any] = json.loads(GOLDEN.read_text())
    return json.dumps(document | changes).encode()


def test_trainer_is_read_when_its_file_is_the_golden_one(tmp_path: Path, said: Path) -> None:
    """The trainer's tests write exactly this file."""
    (said / "a.json").write_bytes(GOLDEN.read_bytes())
    assert read_trainers(tmp_path, BOOT_ID).found == (
        Trainer(
            id="a",
            pod_uid="0f8fad5b-d9cb-469f-a165-70867728950e",
            state=TrainerState.STOPPING,
            heartbeat_s=5001.25,
            step=1200,
            committed_step=1100,
            committed_at=datetime(2026, 11, 30, 10, 4, 51, 500000, tzinfo=UTC),
            figures=figures_of(json.loads(GOLDEN.read_text())),
        ),
    )


def test_trainer_is_read_when_it_is_in_no_pod_and_says_more_than_we_know(
    tmp_path: Path, said: Path
) -> None:
    """Fields of a newer trainer are ignored, and so are drafts."""
    (said / "a.json").write_bytes(golden(pod_uid=None, mood="fine"))
    (said / ".a.json.new").write_bytes(b"{")
    look = read_trainers(tmp_path, BOOT_ID)
    assert [one.pod_uid for one in look.found] == [""]
    assert look.refused == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 4000,
        golden(schema=2),
        golden(boot_id="another"),
        golden(boot_id=None),
        golden(state="resting"),
        golden(state=None),
        golden(heartbeat_boottime_s="5001"),
        golden(heartbeat_boottime_s=True),
        golden(heartbeat_boottime_s=10**400),
        golden().replace(b"5001.25", b"NaN"),
        golden(step=None),
        golden(pod_uid=7),
        golden(pod_uid="x" * 129),
        golden(padding="x" * 4096),
        json.dumps({"schema": 1}).encode(),
    ],
    ids=range(20),
)
def test_file_is_refused_when_it_can_not_be_understood(
    tmp_path: Path, said: Path, content: bytes
) -> None:
    """And the others are read all the same."""
    (said / "bad.json").write_bytes(content)
    (said / "good.json").write_bytes(golden())
    look = read_trainers(tmp_path, BOOT_ID)
    assert [one.id for one in look.found] == ["good"]
    assert list(look.refused) == ["bad.json"]
    assert look.unknown == ""


def test_file_is_refused_when_it_is_none_of_its_own(tmp_path: Path, said: Path) -> None:
    """Links show somebody else's file, and a fifo or a device would hold us up."""
    other = tmp_path / "other.json"
    other.write_bytes(golden())
    (said / "symbolic.json").symlink_to(other)
    (said / "hard.json").hardlink_to(other)
    os.mkfifo(said / "fifo.json")
    (said / "directory.json").mkdir()
    look = read_trainers(tmp_path, BOOT_ID)
    assert look.found == ()
    assert sorted(look.refused) == ["directory.json", "fifo.json", "hard.json", "symbolic.json"]


@pytest.mark.parametrize(
    ("step", "at"),
    [
        (None, None),
        ("1100", "yesterday"),
        (True, 7),
        (-1, "2026-11-30T10:04:51"),
        (2**63, "0001-01-01T00:00:00+14:00"),
        ([], "x" * 129),
    ],
)
def test_trainer_is_heard_when_what_is_only_for_people_makes_no_sense(
    tmp_path: Path, said: Path, step: object, at: object
) -> None:
    """Its pod is not evicted under it because of a word that decides nothing."""
    (said / "a.json").write_bytes(golden(committed_step=step, committed_at=at))
    (trainer,) = read_trainers(tmp_path, BOOT_ID).found
    assert trainer.is_at_work(trainer.heartbeat_s)
    assert (trainer.committed_step, trainer.committed_at) == (None, None)


def test_nobody_is_known_to_train_when_there_is_no_directory(tmp_path: Path) -> None:
    """That is how a machine is on which nobody ever does."""
    assert read_trainers(tmp_path, BOOT_ID) == trainers.Trainers()


def test_look_is_not_whole_when_there_are_too_many_files(
    tmp_path: Path, said: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who fills the directory hides trainers, and may not have them evicted by it."""
    monkeypatch.setattr(trainers, "FILE_LIMIT", 2)
    for number in range(3):
        (said / f"{number}.json").write_bytes(golden())
    look = read_trainers(tmp_path, BOOT_ID)
    assert len(look.found) == 2
    assert "more than 2 files" in look.unknown


def test_look_is_not_whole_when_the_directory_is_none(tmp_path: Path) -> None:
    """A link in its place is followed by nobody."""
    (tmp_path / "trainers").symlink_to("/tmp")  # noqa: S108 - it is not followed
    assert "trainers: Not a directory" in read_trainers(tmp_path, BOOT_ID).unknown


@pytest.mark.parametrize(
    ("state", "age_s", "is_at_work"),
    [
        ("running", 0.0, True),
        ("stopping", FRESH_S, True),
        ("running", FRESH_S + 0.1, False),
        ("running", -FRESH_S - 0.1, False),
        ("saved", 0.0, False),
        ("exited", 0.0, False),
    ],
)
def test_trainer_is_at_work_only_while_its_heart_beats_and_it_has_not_saved(
    tmp_path: Path, said: Path, state: str, age_s: float, *, is_at_work: bool
) -> None:
    """A heartbeat from the future is of another clock, and no sign of life."""
    (said / "a.json").write_bytes(golden(state=state))
    (trainer,) = read_trainers(tmp_path, BOOT_ID).found
    assert trainer.is_at_work(5001.25 + age_s) is is_at_work
