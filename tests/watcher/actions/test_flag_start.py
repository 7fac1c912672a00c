"""A start: the run directory is tried, and a flag left behind adopted or removed."""

import asyncio
import errno
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from tests.support.flag_desk import Desk, preemption
from watcher.actions.flag_file import FLAG_NAME
from watcher.actions.flag_start import adopt_flag, prepare_run_dir
from watcher.errors import ConfigError, StartFailed
from watcher.metrics import Metrics
from watcher.notice import NoticeKind

KINDS = frozenset({NoticeKind.PREEMPTION, NoticeKind.REBALANCE})
SOURCES = {"aws_imds": KINDS}


@pytest.fixture
def desk(tmp_path: Path, clock: TurnedClock, metrics: Metrics) -> Desk:
    """A run directory with nothing in it."""
    return Desk(tmp_path, clock, metrics)


def failing(code: int) -> Callable[..., int]:
    """Return what stands for a system call that fails so."""

    def fail(*_arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def test_run_dir_is_refused_when_it_is_missing_or_a_file(tmp_path: Path) -> None:
    """At start this is a setting to mend, with the path in the message."""
    (tmp_path / "file").touch()
    for wrong in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(ConfigError, match=str(wrong)):
            prepare_run_dir(wrong)


def test_run_dir_is_left_as_it_was_when_it_can_be_used(tmp_path: Path) -> None:
    """The probe of a usable directory leaves nothing behind, and an existing flag alone."""
    (tmp_path / FLAG_NAME).write_text("as it was")
    prepare_run_dir(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == [FLAG_NAME]
    assert (tmp_path / FLAG_NAME).read_text() == "as it was"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.EIO])
def test_run_dir_is_tried_again_when_the_machine_is_short_of_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """No setting is wrong, so the daemon is to be started again and not left ended."""
    monkeypatch.setattr(os, "open", failing(code))
    with pytest.raises(StartFailed, match=re.escape(os.strerror(code))):
        prepare_run_dir(tmp_path)


def test_run_dir_is_refused_when_a_directory_is_in_the_drafts_place(tmp_path: Path) -> None:
    """It is not ours to remove; the message says which one and what to do."""
    (tmp_path / ".notice.json.new").mkdir()
    with pytest.raises(ConfigError, match=r"\.notice\.json\.new: is a directory.*Remove it"):
        prepare_run_dir(tmp_path)


def test_adoption_finds_nothing_when_there_is_no_flag(tmp_path: Path) -> None:
    """The usual start."""
    assert adopt_flag(tmp_path, "boot-a", SOURCES) is None


async def test_adoption_returns_the_notice_when_the_flag_is_of_this_boot(desk: Desk) -> None:
    """The file stays in place: trainers see no gap while the daemon restarts."""
    await desk.admit(preemption(desk.clock()))
    adopted = await asyncio.to_thread(adopt_flag, desk.path.parent, "boot-a", SOURCES)
    assert adopted is not None
    assert adopted.id == "spot"
    assert desk.path.exists()


async def test_adoption_removes_the_flag_when_it_is_of_another_boot(desk: Desk) -> None:
    """Stopped and started again, the same instance is a new node."""
    await desk.admit(preemption(desk.clock()))
    assert await asyncio.to_thread(adopt_flag, desk.path.parent, "boot-b", SOURCES) is None
    assert not desk.path.exists()


async def test_adoption_removes_the_flag_when_its_source_is_not_enabled(desk: Desk) -> None:
    """Nobody would ever withdraw it."""
    await desk.admit(preemption(desk.clock()))
    adopt = asyncio.to_thread(adopt_flag, desk.path.parent, "boot-a", {"gcp_metadata": KINDS})
    assert await adopt is None
    assert not desk.path.exists()


async def test_adoption_removes_the_flag_when_no_source_tells_of_its_kind(desk: Desk) -> None:
    """A drill that no metadata key shows would stay in force until the next boot."""
    await desk.admit(replace(preemption(desk.clock()), kind=NoticeKind.DRILL))
    assert await asyncio.to_thread(adopt_flag, desk.path.parent, "boot-a", SOURCES) is None
    assert not desk.path.exists()


def test_adoption_leaves_the_flag_when_it_can_not_be_read_at_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notice is not lost because the machine is out of descriptors for a while."""
    (tmp_path / FLAG_NAME).write_text("{}")
    monkeypatch.setattr(os, "open", failing(errno.ENFILE))
    with pytest.raises(StartFailed, match="start the daemon again"):
        adopt_flag(tmp_path, "boot-a", SOURCES)
    assert (tmp_path / FLAG_NAME).exists()


@pytest.mark.parametrize("what", ["empty", "cut", "fifo", "link", "large"])
def test_adoption_removes_the_flag_when_it_can_not_be_read(tmp_path: Path, what: str) -> None:
    """Damage of any kind is removed, and a planted fifo or link is neither opened nor followed."""
    path, target = tmp_path / FLAG_NAME, tmp_path / "target"
    target.write_text("{}")
    match what:
        case "empty":
            path.touch()
        case "cut":
            path.write_text('{"schema": 1, "boot_id": "boot-a", "kind": "pre')
        case "fifo":
            os.mkfifo(path)
        case "link":
            path.symlink_to(target)
        case _:
            path.write_bytes(b"\x00" * 300_000)
    assert adopt_flag(tmp_path, "boot-a", SOURCES) is None
    assert not path.is_symlink()
    assert not path.exists()
    assert target.read_text() == "{}"


def test_adoption_is_a_setting_to_mend_when_the_flag_can_not_be_removed(tmp_path: Path) -> None:
    """A void flag that stays would stop every trainer on this node."""
    (tmp_path / FLAG_NAME / "x").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"void flag.*notice\.json: is a directory.*Remove it"):
        adopt_flag(tmp_path, "boot-a", SOURCES)


async def test_flag_stays_when_its_source_is_only_unheard(desk: Desk) -> None:
    """This boot has heard that cloud, so it is silent and not gone: the start is tried again."""
    await desk.admit(preemption(desk.clock()))
    before = await asyncio.to_thread(desk.path.read_text)
    for unheard, error in ((("aws_imds",), StartFailed), (("gcp_metadata",), None)):
        adopt = asyncio.to_thread(adopt_flag, desk.path.parent, "boot-a", {}, unheard)
        if error is None:
            assert await adopt is None
            continue
        with pytest.raises(error, match="aws_imds"):
            await adopt
        assert await asyncio.to_thread(desk.path.read_text) == before
    assert not await asyncio.to_thread(desk.path.exists)
