"""All processes of a cgroup or of a unit are signalled, and nobody else."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.clocks import START
from tests.support.signalled import Trainer
from watcher.actions.signal_process import SignalProcess
from watcher.actions.signal_targets import Cgroup, Unit
from watcher.errors import ActionRefused, ActionRetryable
from watcher.notice import Notice, NoticeKind, Standing
from watcher.policy import stand

pytestmark = pytest.mark.ranks

MOUNTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/systemd"))
"""Where version 2 is, and systemd's own hierarchy beside version 1."""


def notice(name: str = "spot") -> Standing:
    """Build a stop notice in force."""
    return stand(Notice(id=name, kind=NoticeKind.PREEMPTION, source="test", received=START))


@pytest.fixture
def trainers(tmp_path: Path) -> Iterator[list[Trainer]]:
    """Start three."""
    trainers = [Trainer(tmp_path / f"{number}.pid") for number in range(3)]
    yield trainers
    for trainer in trainers:
        if trainer.process.poll() is None:
            trainer.process.kill()
            trainer.process.communicate(timeout=20)


def put(directory: Path, *pids: int) -> Path:
    """Write down who is in a cgroup, as the kernel shows it."""
    directory.mkdir(exist_ok=True)
    (directory / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
    return directory


async def ended(trainers: list[Trainer]) -> list[list[str]]:
    """End them, and return the signals that each of them got."""
    return [await asyncio.to_thread(trainer.end) for trainer in trainers]


async def test_signal_reaches_all_in_the_cgroup_and_below_when_others_run(
    trainers: list[Trainer], tmp_path: Path
) -> None:
    """Init, this daemon and processes that the kernel shows as 0 are none of them."""
    first, below, other = trainers
    group = put(tmp_path / "unit", 0, 1, os.getpid(), first.process.pid)
    put(group / "ranks", below.process.pid)
    action = SignalProcess(Cgroup(group), signal.SIGTERM)
    said = await action.run(notice())
    assert f"{first.process.pid}" in said
    assert "for another notice" in await action.run(notice("queue"))
    assert await ended([first, below, other]) == [["TERM"], ["TERM"], []]


async def test_newcomer_is_signalled_when_another_notice_comes(
    trainers: list[Trainer], tmp_path: Path
) -> None:
    """Who has had the signal does not get it again."""
    first, late, _ = trainers
    group = put(tmp_path / "unit", first.process.pid)
    action = SignalProcess(Cgroup(group), signal.SIGTERM)
    await action.run(notice())
    put(group, first.process.pid, late.process.pid)
    await action.run(notice("second"))
    assert await ended([first, late]) == [["TERM"], ["TERM"]]


async def test_process_is_spared_when_it_has_left_the_cgroup_in_between(
    trainers: list[Trainer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is held first and the cgroup read again, as its pid may be somebody else's by then."""
    stays, leaves, _ = trainers
    group = put(tmp_path / "unit", stays.process.pid, leaves.process.pid)
    open_pidfd = os.pidfd_open

    def then_one_leaves(pid: int) -> int:
        put(group, stays.process.pid)
        return open_pidfd(pid)

    monkeypatch.setattr(os, "pidfd_open", then_one_leaves)
    await SignalProcess(Cgroup(group), signal.SIGTERM).run(notice())
    assert await ended([stays, leaves]) == [["TERM"], []]


async def test_others_are_signalled_when_one_may_not_be(
    trainers: list[Trainer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal is said once they all had their turn."""
    pids = sorted(trainer.process.pid for trainer in trainers)
    group = put(tmp_path / "unit", *pids)
    send, turns = signal.pidfd_send_signal, iter(pids)

    def forbid_the_first(descriptor: int, number: int) -> None:
        if next(turns) == pids[0]:
            raise PermissionError(1, "Operation not permitted")
        send(descriptor, number)

    monkeypatch.setattr(signal, "pidfd_send_signal", forbid_the_first)
    with pytest.raises(ActionRefused, match=f"process {pids[0]} of"):
        await SignalProcess(Cgroup(group), signal.SIGTERM).run(notice())
    by_pid = {trainer.process.pid: trainer for trainer in trainers}
    assert await ended([by_pid[pid] for pid in pids]) == [[], ["TERM"], ["TERM"]]


@pytest.mark.parametrize("content", [None, "", "0\n1\n", "4194305\n", "x\n", "\xff\n"])
async def test_signal_waits_when_nobody_is_in_the_cgroup(
    tmp_path: Path, content: str | None
) -> None:
    """A unit that does not run (yet) has none, or an empty one."""
    group = tmp_path / "unit"
    if content is not None:
        group.mkdir()
        (group / "cgroup.procs").write_text(content, encoding="latin-1")
    with pytest.raises(ActionRetryable, match=str(group)):
        await SignalProcess(Cgroup(group), signal.SIGTERM).run(notice())


async def test_signal_reaches_the_unit_when_it_is_in_a_slice_within_a_slice(
    trainers: list[Trainer], tmp_path: Path
) -> None:
    """One that somebody has made by that name below a service of theirs is another."""
    meant, pretender, _ = trainers
    empty, full = tmp_path / "v2", tmp_path / "v1"
    empty.mkdir()
    theirs = full / "a.slice" / "user@1000.service"
    ours = full / "system.slice" / "system-train.slice"
    for folder in (theirs, ours):
        folder.mkdir(parents=True)
    put(theirs / "train@7.service", pretender.process.pid)
    put(ours / "train@7.service", meant.process.pid)
    unit = Unit("train@7.service", (empty, full))
    assert "of train@7.service" in await SignalProcess(unit, signal.SIGTERM).run(notice())
    assert await ended([meant, pretender]) == [["TERM"], []]
    with pytest.raises(ActionRetryable, match="does not run"):
        await SignalProcess(Unit("train@8.service", (empty, full)), signal.SIGTERM).run(notice())


@pytest.fixture
def group() -> Iterator[Path]:
    """Make a cgroup of the kernel's own."""
    for mount in MOUNTS:
        made = mount / f"reprieve-test-{os.getpid()}"
        with suppress(OSError):
            made.mkdir()
            if (made / "cgroup.procs").exists():
                yield made
                made.rmdir()
                return
            made.rmdir()
    pytest.skip("no cgroup can be made here: only root can, where they may be written")


async def test_signal_reaches_the_process_when_the_cgroup_is_the_kernels(
    trainers: list[Trainer], group: Path
) -> None:
    """What it shows is what we read."""
    first, other, _ = trainers
    (group / "cgroup.procs").write_text(f"{first.process.pid}")
    await SignalProcess(Cgroup(group), signal.SIGTERM).run(notice())
    assert await ended([first, other]) == [["TERM"], []]
