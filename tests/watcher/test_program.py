"""Another program beside the loop: what it says, how it ends, and that nothing of it is left."""

import asyncio
import gc
import itertools
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

import pytest

from tests.support.clocks import eventually
from tests.support.processes import lives
from tests.support.waiting import wait_until
from watcher.errors import SourceMalformed
from watcher.program import LINE_LIMIT_BYTES, Process, Program
from watcher.side_thread import SideThread

SHELL = "/bin/sh"


@asynccontextmanager
async def running(*argv: str) -> AsyncIterator[Program]:
    """Run it inside the block."""
    started = await Program.start(argv, SideThread[Process]("test"))
    try:
        yield started
    finally:
        await started.end()


async def number(started: Program) -> int:
    """Read a line that is a pid."""
    line = await started.line()
    assert line is not None
    return int(line)


async def test_program_tells_its_lines_and_its_status_when_it_ends_by_itself() -> None:
    """The last line needs no end, and there is nothing after it."""
    async with running(SHELL, "-c", "echo one; echo; printf three; echo oops >&2; exit 7") as one:
        assert [await one.line() for _ in range(4)] == [b"one", b"", b"three", None]
        assert await one.line() is None
        assert await one.ended() == 7
        await eventually(lambda: one.last_words() == "oops")


async def test_program_gets_nothing_to_read_and_none_of_the_managers_words_when_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It can't say READY in the daemon's place, nor wait for a person."""
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/x")
    async with running(SHELL, "-c", 'cat; echo "[$NOTIFY_SOCKET]"') as one:
        assert await one.line() == b"[]"


async def test_line_is_passed_over_when_it_is_too_long() -> None:
    """What comes after it is heard; the longest that fits is as well."""
    lengths = (LINE_LIMIT_BYTES + 1, LINE_LIMIT_BYTES, 99_999, 1)
    code = f"for length in {lengths}: print('x' * length)"
    async with running(sys.executable, "-c", code) as one:
        with pytest.raises(SourceMalformed):
            await one.line()
        assert await one.line() == b"x" * LINE_LIMIT_BYTES
        with pytest.raises(SourceMalformed):
            await one.line()
        assert await one.line() == b"x"


async def test_program_is_not_held_up_when_it_complains_without_end() -> None:
    """Standard error is taken in; its end is kept, and no more."""
    code = "import sys; sys.stderr.write('x' * 500_000 + ' the end'); print('done')"
    async with running(sys.executable, "-c", code) as one:
        assert await one.line() == b"done"
        await one.ended()
        await eventually(lambda: one.last_words().endswith("the end"))
        assert len(one.last_words()) == 256


async def test_whole_group_is_gone_when_the_program_is_ended() -> None:
    """Also those that ignore SIGTERM, such as a child of a shell that is told to."""
    script = "trap '' TERM; sleep 60 & echo $!; echo $$; wait"
    async with running(SHELL, "-c", script) as one:
        pids = [await number(one), await number(one)]
        assert all(lives(pid) for pid in pids)
    await eventually(lambda: not any(lives(pid) for pid in pids))


async def test_child_is_gone_when_only_the_leader_has_ended() -> None:
    """Nor does it hold the pipe open: there is an end of lines."""
    async with running(SHELL, "-c", "sleep 60 & echo $!; exit 3") as one:
        pid = await number(one)
        assert await one.ended() == 3
        assert await one.line() is None
        await eventually(lambda: not lives(pid))


async def test_lines_end_when_one_that_left_the_group_holds_the_pipe() -> None:
    """It is not ours to kill, nor to wait for."""
    async with running(SHELL, "-c", "setsid sleep 60 & echo $!; sleep 0.1") as one:
        pid = await number(one)
        assert await one.line() is None
    with suppress(ProcessLookupError):
        os.kill(pid, 9)


async def test_caller_that_is_cancelled_loses_no_line(tmp_path: Path) -> None:
    """A wait for a line has a limit, and the line comes later."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with running(SHELL, "-c", f"read x < {gate}; echo late") as one:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(one.line(), 0.01)
        await asyncio.to_thread(gate.write_text, "go\n")
        assert await one.line() == b"late"


@pytest.mark.parametrize(
    ("argv", "error"),
    [(("/nonexistent",), FileNotFoundError), (("/etc/passwd",), PermissionError)],
)
async def test_start_fails_when_the_program_can_not_be_run(
    argv: tuple[str, ...], error: type[OSError]
) -> None:
    """The caller learns the system's own reason."""
    with pytest.raises(error, match=argv[0]):
        await Program.start(argv, SideThread[Process]("test"))


@pytest.mark.parametrize("pipes", [0, 1])
async def test_program_never_outlives_a_start_that_was_cancelled_between_its_pipes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pipes: int
) -> None:
    """Nor do the pipes, of which pytest would tell."""
    loop, pid_file = asyncio.get_running_loop(), tmp_path / "pid"
    connect, connected = loop.connect_read_pipe, itertools.count()

    async def cancelled(made: Callable[[], asyncio.Protocol], pipe: IO[bytes]) -> object:
        if next(connected) == pipes:
            await asyncio.to_thread(wait_until, pid_file.exists)
            raise asyncio.CancelledError
        return await connect(made, pipe)

    monkeypatch.setattr(loop, "connect_read_pipe", cancelled)
    script = f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 60"
    with pytest.raises(asyncio.CancelledError):
        await Program.start((SHELL, "-c", script), SideThread[Process]("test"))
    assert not lives(int(pid_file.read_text()))
    gc.collect()


async def test_program_never_outlives_a_start_that_was_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The start hangs, its caller goes; when it comes through after all, nobody is left running."""
    is_let = threading.Event()
    born: list[Process] = []
    popen = subprocess.Popen

    def late(*args: object, **kwargs: object) -> Process:
        is_let.wait()
        process: Process = popen(*args, **kwargs)  # type: ignore[call-overload] # passed on as is
        born.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", late)
    thread = SideThread[Process]("test")
    starting = asyncio.ensure_future(Program.start(("sleep", "60"), thread))
    await eventually(lambda: not thread.is_idle)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    is_let.set()
    await eventually(lambda: thread.is_idle)
    assert [process.returncode for process in born] == [-9]


async def test_program_reads_what_it_is_given_to_its_end_when_it_is_given_any() -> None:
    """Through a file of its own, so that nobody has to feed it; and it finds its variables."""
    given = b"one\ntwo" * 100_000
    thread = SideThread[Process]("test")
    script = 'echo "[$A]"; wc -c'
    started = await Program.start((SHELL, "-c", script), thread, given, {"A": "a b"})
    try:
        assert await started.line() == b"[a b]"
        assert int(await started.line() or 0) == len(given)
    finally:
        await started.end()


async def test_output_is_read_to_its_end_and_cut_when_there_is_much() -> None:
    """A program that prints without end of line is not held up."""
    async with running(sys.executable, "-c", "print('x' * 999_999)") as one:
        assert await one.output(5) == b"xxxxx"
        assert await one.ended() == 0
    async with running(SHELL, "-c", "echo hi") as one:
        assert await one.output(5) == b"hi\n"
