"""Signals to real processes, found through a pid file and never by name."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clocks import START
from tests.support.signalled import Trainer
from watcher.actions.signal_process import SignalProcess
from watcher.actions.signal_targets import PidFile
from watcher.errors import ActionRefused, ActionRetryable
from watcher.notice import Notice, NoticeKind, Standing
from watcher.policy import stand

pytestmark = pytest.mark.ranks


@pytest.fixture
def trainer(tmp_path: Path) -> Iterator[Trainer]:
    """Start a trainer with a pid file."""
    trainer = Trainer(tmp_path / "trainer.pid")
    yield trainer
    if trainer.process.poll() is None:
        trainer.process.kill()
        trainer.process.communicate(timeout=20)


def notice(name: str = "spot") -> Standing:
    """Build a stop notice in force."""
    return stand(Notice(id=name, kind=NoticeKind.PREEMPTION, source="test", received=START))


async def test_signal_reaches_the_process_once_when_run_again_for_the_same_notice(
    trainer: Trainer,
) -> None:
    """A second SIGTERM means "now" to many programs, so one notice sends one."""
    action = SignalProcess(PidFile(trainer.pid_file), signal.SIGTERM)
    assert "sent SIGTERM" in await action.run(notice())
    assert "was sent before" in await action.run(notice())
    assert await asyncio.to_thread(trainer.end) == ["TERM"]


async def test_signal_reaches_the_process_once_when_two_notices_tell_of_one_end(
    trainer: Trainer,
) -> None:
    """The queue and the metadata service say the same; only after both is there something new."""
    action = SignalProcess(PidFile(trainer.pid_file), signal.SIGTERM)
    assert "sent SIGTERM" in await action.run(notice("imds"))
    assert "for another notice" in await action.run(notice("queue"))
    await action.undo(notice("imds"))
    assert "for another notice" in await action.run(notice("late"))
    for name in ("queue", "late"):
        await action.undo(notice(name))
    assert "sent SIGTERM" in await action.run(notice("new"))
    assert set(await asyncio.to_thread(trainer.end)) == {"TERM"}


async def test_signal_is_the_configured_one_when_it_is_not_sigterm(trainer: Trainer) -> None:
    """Some trainers listen for SIGUSR1."""
    await SignalProcess(PidFile(trainer.pid_file), signal.SIGUSR1).run(notice())
    assert await asyncio.to_thread(trainer.end) == ["USR1"]


async def test_signal_is_sent_again_when_the_notice_was_withdrawn_in_between(
    trainer: Trainer,
) -> None:
    """What was taken back and comes again is a new warning."""
    action = SignalProcess(PidFile(trainer.pid_file), signal.SIGTERM)
    await action.run(notice())
    assert "can't be taken back" in await action.undo(notice())
    await action.run(notice())
    # Two pending signals of one kind merge, so only "at least one" is certain here.
    assert set(await asyncio.to_thread(trainer.end)) == {"TERM"}
    assert action._sent == {"spot": {trainer.process.pid}}


@pytest.mark.parametrize(
    "content",
    ["", "\n", "0", "1", "-1", "-15", "12x", "1 2", "99999999999", "4194305", "\x00", "python"],
)
async def test_signal_waits_when_the_pid_file_names_no_process(
    tmp_path: Path, content: str
) -> None:
    """Groups, init, everybody, nonsense and pids that do not exist are never signalled."""
    pid_file = tmp_path / "trainer.pid"
    pid_file.write_text(content)
    with pytest.raises(ActionRetryable, match=str(pid_file)):
        await SignalProcess(PidFile(pid_file), signal.SIGTERM).run(notice())


async def test_signal_waits_when_the_pid_file_names_the_daemon_itself(tmp_path: Path) -> None:
    """The daemon does not end itself, whoever has written the file."""
    pid_file = tmp_path / "trainer.pid"
    pid_file.write_text(str(os.getpid()))
    with pytest.raises(ActionRetryable):
        await SignalProcess(PidFile(pid_file), signal.SIGTERM).run(notice())


@pytest.mark.parametrize("what", ["missing", "fifo", "link", "directory"])
async def test_signal_waits_when_the_pid_file_is_no_regular_file(
    trainer: Trainer, tmp_path: Path, what: str
) -> None:
    """Nothing hangs on a fifo, and a link is not followed, even to a good file."""
    path = tmp_path / "other"
    match what:
        case "fifo":
            os.mkfifo(path)
        case "link":
            path.symlink_to(trainer.pid_file)
        case "directory":
            path.mkdir()
    with pytest.raises(ActionRetryable, match="no pid in"):
        await SignalProcess(PidFile(path), signal.SIGTERM).run(notice())
    assert await asyncio.to_thread(trainer.end) == []


async def test_signal_reaches_the_trainer_when_it_starts_after_a_first_attempt(
    tmp_path: Path,
) -> None:
    """A pid file that appears late is found by the next attempt."""
    action = SignalProcess(PidFile(tmp_path / "trainer.pid"), signal.SIGTERM)
    with pytest.raises(ActionRetryable):
        await action.run(notice())
    trainer = await asyncio.to_thread(Trainer, tmp_path / "trainer.pid")
    await action.run(notice())
    assert await asyncio.to_thread(trainer.end) == ["TERM"]


async def test_signal_spares_the_process_when_the_pid_file_changes_in_between(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is held first and the file read again, so a pid that moved on is spared."""
    open_pidfd = os.pidfd_open

    def then_the_trainer_is_replaced(pid: int) -> int:
        descriptor = open_pidfd(pid)
        trainer.pid_file.write_text("4194303")
        return descriptor

    monkeypatch.setattr(os, "pidfd_open", then_the_trainer_is_replaced)
    with pytest.raises(ActionRetryable, match="changed"):
        await SignalProcess(PidFile(trainer.pid_file), signal.SIGTERM).run(notice())
    assert await asyncio.to_thread(trainer.end) == []


async def test_signal_is_refused_when_the_process_belongs_to_somebody_else(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trying again can't help, so the message says what would."""

    def forbid(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(signal, "pidfd_send_signal", forbid)
    with pytest.raises(ActionRefused, match="CAP_KILL"):
        await SignalProcess(PidFile(trainer.pid_file), signal.SIGTERM).run(notice())


def descriptors() -> int:
    """Count this process's open descriptors."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_signal_leaves_no_descriptor_when_run_many_times(trainer: Trainer) -> None:
    """Neither success nor failure leaks the pidfd."""
    action = SignalProcess(PidFile(trainer.pid_file), signal.SIGUSR1)
    before = descriptors()
    for number in range(5):
        await action.run(notice(f"spot-{number}"))
    assert descriptors() == before
