"""The look at the trainers' files: it holds nobody up, and says once what it refuses."""

import threading
from pathlib import Path

import pytest

from tests.support.draining import BOOT_ID, GOLDEN
from watcher.actions import trainer_look
from watcher.actions.trainer_look import TrainerLook
from watcher.trainers import Trainers


async def test_file_that_is_refused_is_named_once_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A drain looks every second; another reason is another line."""
    directory = tmp_path / "trainers"
    directory.mkdir()
    (directory / "good.json").write_bytes(GOLDEN.read_bytes())
    (directory / "bad.json").write_text("{")
    look = TrainerLook(tmp_path, BOOT_ID)
    for _ in range(3):
        assert [one.id for one in (await look()).found] == ["good"]
    assert caplog.text.count("file=bad.json") == 1
    (directory / "bad.json").write_text("[]")
    await look()
    assert caplog.text.count("file=bad.json") == 2


async def test_nothing_is_known_when_the_directory_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drain goes on, and takes nobody's trainer for saved."""
    may_end = threading.Event()

    def hangs(_run_dir: Path, _boot_id: str) -> Trainers:
        may_end.wait()
        return Trainers()

    monkeypatch.setattr(trainer_look, "LOOK_LIMIT_S", 0.02)
    monkeypatch.setattr(trainer_look, "read_trainers", hangs)
    look = TrainerLook(tmp_path, BOOT_ID)
    try:
        for _ in range(2):
            assert "has not been read within 0.02 s" in (await look()).unknown
    finally:
        may_end.set()
