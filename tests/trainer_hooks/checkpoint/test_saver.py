"""The checkpointer in a world of one: what it saves is committed, what fails does no harm."""

import errno
import itertools
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import DistNetworkError, HashStore

from tests.support.saving import on_disk
from tests.support.training import Run
from trainer_hooks.checkpoint import digest, rank_state, saver
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.digest import DigestingWriter
from trainer_hooks.checkpoint.latest import damaged_files, latest_committed
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.checkpoint.resume import resume
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.checkpoint.vote import Vote
from trainer_hooks.clock import boottime_s
from trainer_hooks.errors import FencedError
from trainer_hooks.world import World

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def world() -> World:
    """Return a world of one."""
    store: Any = HashStore()
    return World(rank=0, size=1, store=store, group=None)


@pytest.fixture
def checkpointer(tmp_path: Path) -> Iterator[Checkpointer]:
    """Save under the test's directory."""
    attempt = start_attempt(tmp_path)
    checkpointer = Checkpointer(tmp_path, world(), attempt, save_every_steps=5)
    yield checkpointer
    checkpointer.wait(None)
    checkpointer.close()


@pytest.fixture
def run() -> Run:
    """Train one step."""
    run = Run()
    run.step()
    return run


def save(checkpointer: Checkpointer, run: Run, step: int) -> bool:
    """Save, wait, and tell whether it was committed."""
    checkpointer.save(run.state.capture(step))
    assert checkpointer.wait(None)
    return checkpointer.last is not None and checkpointer.last.is_committed


def newest_step(root: Path) -> int | None:
    """Return the step of the newest checkpoint, which must be whole."""
    newest = latest_committed(root)
    assert newest is None or damaged_files(newest) == []
    return None if newest is None else newest.step


def test_save_is_committed_when_all_went_well(
    checkpointer: Checkpointer, run: Run, tmp_path: Path
) -> None:
    """Whole, with every file in its marker, and its times known."""
    assert save(checkpointer, run, 1)
    assert newest_step(tmp_path) == 1
    newest = latest_committed(tmp_path)
    assert newest is not None
    assert [entry.name for entry in newest.marker.files] == [
        ".metadata",
        "__0_0.distcp",
        "manifest/rank_00000.json",
        "state/rank_00000.json",
    ]
    directory = on_disk(newest.path)
    names = {
        path.relative_to(directory).as_posix() for path in directory.rglob("*.*") if path.is_file()
    }
    assert {entry.name for entry in newest.marker.files} == names
    assert newest.marker.save_every_steps == 5
    assert checkpointer.last_committed == newest.marker.name
    assert checkpointer.last is not None
    assert checkpointer.last.durable_s is not None
    assert list(checkpointer.took_s) == [checkpointer.stall_s + checkpointer.last.durable_s]
    assert checkpointer.began_s is None
    assert checkpointer.failure is None


class Slow:
    """A writer that waits before it writes, so that a save stays in flight."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_writing, self.release = threading.Event(), threading.Event()
        write = DigestingWriter.write_data

        def held(*arguments: Any) -> Any:  # noqa: ANN401 - DCP's own
            self.is_writing.set()
            assert self.release.wait(30)
            return write(*arguments)

        monkeypatch.setattr(DigestingWriter, "write_data", held)


def test_checkpoint_holds_the_captured_state_when_training_goes_on_meanwhile(
    checkpointer: Checkpointer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Staging has copied it by the time save() returns, before a byte is written."""
    slow = Slow(monkeypatch)
    before = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    checkpointer.save(run.state.capture(1))
    run.step(3)
    assert slow.is_writing.wait(30)
    assert newest_step(tmp_path) is None
    assert checkpointer.began_s is not None
    assert not checkpointer.wait(boottime_s() + 0.05)
    slow.release.set()
    assert checkpointer.wait(None)
    other = Run(seed=5)
    assert resume(tmp_path, other.state, world()) is not None
    assert all(torch.equal(other.model.state_dict()[name], before[name]) for name in before)


def test_second_save_waits_when_one_is_in_flight(
    checkpointer: Checkpointer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never two at once, and both are committed."""
    slow = Slow(monkeypatch)
    checkpointer.save(run.state.capture(1))
    snapshot = run.state.capture(2)
    second = threading.Thread(target=checkpointer.save, args=(snapshot,))
    second.start()
    assert slow.is_writing.wait(30)
    assert len(saves(tmp_path)) == 1
    slow.release.set()
    second.join()
    assert checkpointer.wait(None)
    assert [name.step for name in saves(tmp_path)] == [2, 1]
    assert newest_step(tmp_path) == 2


def no_space(*_: object, **__: object) -> None:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "call",
    [
        (DigestingWriter, "write_data"),
        (DigestingWriter, "finish"),
        (rank_state, "write_file"),
        (saver, "write_manifest"),
    ],
    ids=lambda call: call[1],
)
def test_training_goes_on_when_a_write_fails(
    checkpointer: Checkpointer, run: Run, call: tuple[Any, str], caplog: pytest.LogCaptureFixture
) -> None:
    """The reason is logged, the room given back, the old checkpoint stands, the next save works."""
    root = on_disk(checkpointer._root)
    assert save(checkpointer, run, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*call, no_space)
        assert not save(checkpointer, run, 2)
    assert "save failed step=2: rank 0: " in caplog.text
    assert "No space left on device" in str(checkpointer.failure)
    assert [found.step for found in saves(root)] == [1]
    assert newest_step(root) == 1
    assert (len(checkpointer.took_s), checkpointer.began_s) == (1, None)
    run.step()
    assert save(checkpointer, run, 3)
    assert newest_step(root) == 3
    assert checkpointer.failure is None


def test_streak_is_said_when_five_saves_in_a_row_fail(
    checkpointer: Checkpointer, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """Each by itself, and from the second on since when nothing is committed, until one works."""
    assert save(checkpointer, run, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saver, "write_manifest", no_space)
        for step in range(2, 7):
            assert not save(checkpointer, run, step)
    failed = [line for line in caplog.messages if line.startswith("save failed step=")]
    assert [line.partition(":")[0][-1] for line in failed] == [*"23456"]
    said = [one for one in caplog.records if one.levelno == logging.CRITICAL]
    since = "NO SAVE COMMITTED since step=1: "
    assert [one.getMessage().partition(", steps")[0] for one in said] == [
        f"{since}{count} in a row have failed" for count in range(2, 6)
    ]
    assert "steps 2 to 6: rank 0: [Errno 28] No space left on device" in said[-1].getMessage()
    assert checkpointer.streak.count == 5
    assert save(checkpointer, run, 7)
    assert (checkpointer.streak.count, checkpointer.failure) == (0, None)
    assert "saves work again, after 5 that failed" in caplog.text


@pytest.mark.parametrize("written", [0, 1, 3, 7])
def test_reason_is_named_when_the_disk_is_full_in_the_midst_of_a_shard(
    checkpointer: Checkpointer, run: Run, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """And not what torch's writer makes of it."""
    write, calls = digest._DigestedStream.write, itertools.count()

    def fill(stream: Any, data: Any) -> int:  # noqa: ANN401 - io's own
        if next(calls) >= written:
            no_space()
        return write(stream, data)

    monkeypatch.setattr(digest._DigestedStream, "write", fill)
    assert not save(checkpointer, run, 1)
    assert "No space left on device" in str(checkpointer.failure)


def test_save_ends_when_its_part_fails_while_dcp_still_writes(
    checkpointer: Checkpointer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before DCP has ended too: the next save would meet it."""
    slow = Slow(monkeypatch)
    monkeypatch.setattr(rank_state, "write_file", no_space)
    checkpointer.save(run.state.capture(1))
    assert slow.is_writing.wait(30)
    assert not checkpointer.wait(boottime_s() + 0.1)
    slow.release.set()
    assert checkpointer.wait(None)


@pytest.mark.parametrize(
    "error", [RuntimeError("odd"), OSError("odd"), UnicodeEncodeError("utf-8", "", 0, 1, "odd")]
)
def test_save_ends_when_its_commit_raises_anything(
    checkpointer: Checkpointer, run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The next save waits for its end."""

    def raising(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(saver, "commit", raising)
        assert not save(checkpointer, run, 1)
    assert "odd" in str(checkpointer.failure)
    assert save(checkpointer, run, 2)


def test_save_is_not_started_when_its_directory_cannot_be_made(
    checkpointer: Checkpointer, run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Said in the log; training goes on, and the next save works."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "mkdir", no_space)
        checkpointer.save(run.state.capture(1))
    assert "save not started step=1" in caplog.text
    assert checkpointer.wait(None)
    assert "No space left" in str(checkpointer.failure)
    assert newest_step(tmp_path) is None
    assert checkpointer.began_s is None
    assert save(checkpointer, run, 2)


def test_loss_is_said_when_a_save_is_broken_off(
    checkpointer: Checkpointer, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """Ctrl-C in the midst of staging; nothing is in flight then, and who goes on saves again."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saver, "stage", interrupted)
        with pytest.raises(KeyboardInterrupt):
            checkpointer.save(run.state.capture(1))
    assert "save broken off step=1: KeyboardInterrupt()" in caplog.messages
    assert checkpointer.wait(boottime_s())
    assert checkpointer.began_s is None
    assert save(checkpointer, run, 2)


def test_save_is_committed_when_its_marker_is_there_and_nobody_can_say_so(
    checkpointer: Checkpointer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host of the Store has committed it and left before this rank could ask."""

    def lost(_: object) -> None:
        raise DistNetworkError("connection reset")

    monkeypatch.setattr(Vote, "outcome", lost)
    assert save(checkpointer, run, 1)
    assert newest_step(tmp_path) == 1
    monkeypatch.setattr(saver, "commit", lambda *_, **__: None)
    assert not save(checkpointer, run, 2)
    assert "the Store is lost, and no marker is there" in str(checkpointer.failure)


def test_run_is_fenced_off_when_a_newer_attempt_has_started(
    checkpointer: Checkpointer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next save is refused; the one in flight is never committed."""
    slow = Slow(monkeypatch)
    checkpointer.save(run.state.capture(1))
    assert slow.is_writing.wait(30)
    start_attempt(tmp_path)
    slow.release.set()
    assert checkpointer.wait(None)
    assert "is over" in str(checkpointer.failure)
    assert newest_step(tmp_path) is None
    with pytest.raises(FencedError):
        checkpointer.save(run.state.capture(2))


def test_store_stays_small_when_many_saves_were_made(tmp_path: Path, run: Run) -> None:
    """The votes of old saves are forgotten."""
    store: Any = HashStore()
    alone = World(rank=0, size=1, store=store, group=None)
    checkpointer = Checkpointer(tmp_path, alone, start_attempt(tmp_path), save_every_steps=1)
    counts = []
    for step in range(1, 6):
        assert save(checkpointer, run, step)
        counts.append(store.num_keys())
    checkpointer.close()
    assert counts[1:] == [counts[1]] * 4
