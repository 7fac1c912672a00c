"""The flag file on a real file system: written whole, kept equal to the state, and cleaned up."""

import asyncio
import errno
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.clocks import TurnedClock
from tests.support.exhaustion import all_descriptors_used
from watcher.actions.flag_file import FLAG_NAME, FlagFile, adopt_flag, prepare_run_dir
from watcher.actions.flag_v1 import Writer
from watcher.errors import ActionRetryable, ConfigError, StartFailed
from watcher.metrics import Metrics
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.policy import stand
from watcher.state import State

WRITER = Writer("node-a", "boot-a")
KINDS = frozenset({NoticeKind.PREEMPTION, NoticeKind.REBALANCE})
SOURCES = {"aws_imds": KINDS}


class Desk:
    """A flag file action with its state, in a run directory of the test's own."""

    def __init__(self, run_dir: Path, clock: TurnedClock, metrics: Metrics) -> None:
        self.path = run_dir / FLAG_NAME
        self.state = State()
        self.clock = clock
        self.metrics = metrics
        self.action = FlagFile(run_dir, WRITER, self.state, metrics, clock)

    async def admit(self, notice: Notice) -> str:
        """Put a notice in force and run the action."""
        self.state.admit(stand(notice), self.clock())
        return await self.action.run(stand(notice))

    async def retire(self, notice: Notice) -> str:
        """Take it out of force and undo the action."""
        self.state.retire(notice, self.clock())
        return await self.action.undo(stand(notice))

    def flag(self) -> dict[str, Any]:
        """Read the flag as a trainer would."""
        content: dict[str, Any] = json.loads(self.path.read_text())
        return content


@pytest.fixture
def desk(tmp_path: Path, clock: TurnedClock, metrics: Metrics) -> Desk:
    """A run directory with nothing in it."""
    return Desk(tmp_path, clock, metrics)


def preemption(seen: Moment, name: str = "spot", left_s: float = 120) -> Notice:
    """Build a stop notice."""
    return Notice(
        id=name,
        kind=NoticeKind.PREEMPTION,
        source="aws_imds",
        received=seen,
        deadline=Deadline.after(seen, left_s),
    )


def failing(code: int) -> Callable[..., int]:
    """Return what stands for a system call that fails so."""

    def fail(*_arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def advice(seen: Moment) -> Notice:
    """Build an advisory notice."""
    return Notice(id="advice", kind=NoticeKind.REBALANCE, source="aws_imds", received=seen)


async def test_flag_is_there_for_everybody_when_written(desk: Desk) -> None:
    """Mode 0644 whatever the umask, one link, and no draft left beside it."""
    before = os.umask(0o077)
    try:
        await desk.admit(preemption(desk.clock()))
    finally:
        os.umask(before)
    status = desk.path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o644
    assert status.st_nlink == 1
    assert [entry.name for entry in desk.path.parent.iterdir()] == [FLAG_NAME]
    assert desk.metrics.flag_written._value.get() == desk.clock().wall.timestamp()


async def test_flag_is_replaced_in_one_step_when_rewritten(desk: Desk) -> None:
    """A reader holding the old file keeps reading the old one: it was renamed over, not edited."""
    await desk.admit(advice(desk.clock()))
    with desk.path.open() as held:
        await desk.admit(preemption(desk.clock()))
        assert json.load(held)["id"] == "advice"
    assert desk.flag()["id"] == "spot"


async def test_flag_shows_the_most_urgent_when_two_notices_are_in_force(desk: Desk) -> None:
    """Stop before advice, then the earliest deadline; the others are named."""
    await desk.admit(advice(desk.clock()))
    assert (desk.flag()["urgency"], desk.flag()["also"]) == ("advisory", [])
    await desk.admit(preemption(desk.clock(), "late", 90))
    await desk.admit(preemption(desk.clock(), "early", 30))
    assert (desk.flag()["id"], desk.flag()["also"]) == ("early", ["late", "advice"])


async def test_flag_shows_the_next_and_then_goes_when_notices_are_withdrawn(desk: Desk) -> None:
    """The file is there exactly as long as something is in force."""
    spot, rebalance = preemption(desk.clock()), advice(desk.clock())
    await desk.admit(spot)
    await desk.admit(rebalance)
    await desk.retire(spot)
    assert desk.flag()["id"] == "advice"
    await desk.retire(rebalance)
    assert not desk.path.exists()
    assert desk.metrics.flag_written._value.get() == 0
    await desk.retire(rebalance)


async def test_flag_seq_grows_when_written_again_also_by_a_later_run(desk: Desk) -> None:
    """A reader that saw one seq can tell any later write, even after a restart of the daemon."""
    seqs = []
    for _ in range(2):
        await desk.admit(preemption(desk.clock()))
        await desk.action.run(stand(preemption(desk.clock())))
        seqs.append(desk.flag()["seq"])
        desk.clock.turn(0.5)
        desk = Desk(desk.path.parent, desk.clock, desk.metrics)
    assert seqs == [5_000_001, 5_000_501]


async def test_flag_does_not_come_back_when_a_late_retry_follows_a_withdrawal(desk: Desk) -> None:
    """A retry shows what is in force by then, not what was when it began."""
    spot = preemption(desk.clock())
    await desk.admit(spot)
    await desk.retire(spot)
    await desk.action.run(stand(spot))
    assert not desk.path.exists()


async def test_flag_can_be_retried_when_the_run_directory_is_away_for_a_while(
    desk: Desk,
) -> None:
    """The error names the path and says what to do; the next attempt works."""
    run_dir = desk.path.parent
    run_dir.rename(run_dir.with_name("away"))
    with pytest.raises(ActionRetryable, match=r"No such file or directory.*--run-dir") as caught:
        await desk.admit(preemption(desk.clock()))
    assert str(run_dir) in str(caught.value)
    run_dir.with_name("away").rename(run_dir)
    await desk.action.run(stand(preemption(desk.clock())))
    assert desk.flag()["id"] == "spot"


async def test_flag_is_written_when_all_descriptors_are_used_up(desk: Desk) -> None:
    """Whoever holds them, the first write and the next find one each."""
    with all_descriptors_used():
        await desk.admit(advice(desk.clock()))
        await desk.admit(preemption(desk.clock()))
    assert desk.flag()["id"] == "spot"


async def test_flag_can_be_retried_when_something_is_in_its_place(desk: Desk) -> None:
    """Neither writing nor removing can deal with a directory, and both say so."""
    spot = preemption(desk.clock())
    (desk.path / "x").mkdir(parents=True)
    with pytest.raises(ActionRetryable, match="can't write"):
        await desk.admit(spot)
    with pytest.raises(ActionRetryable, match="can't remove"):
        await desk.retire(spot)


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


@pytest.mark.parametrize("left", ["file", "fifo", "link"])
async def test_draft_is_made_anew_when_something_was_left_in_its_place(
    desk: Desk, left: str
) -> None:
    """At start and at each write: a fifo does not hang, a link is not followed."""
    draft, target = desk.path.with_name(".notice.json.new"), desk.path.with_name("target")
    target.write_text("as it was")

    def leave() -> None:
        match left:
            case "file":
                draft.touch(mode=0o000)
            case "fifo":
                os.mkfifo(draft)
            case _:
                draft.symlink_to(target)

    leave()
    await asyncio.to_thread(prepare_run_dir, draft.parent)
    assert not draft.is_symlink()
    assert not draft.exists()
    leave()
    await desk.admit(preemption(desk.clock()))
    assert desk.flag()["id"] == "spot"
    assert target.read_text() == "as it was"


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
