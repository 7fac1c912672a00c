"""A program that is run with the news, and does what it likes."""

import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.processes import lives
from tests.support.standings import in_force
from watcher.actions.news import News, document
from watcher.actions.run_command import RunCommand, RunCommandConfig
from watcher.errors import ActionRefused
from watcher.notice import NoticeKind

pytestmark = pytest.mark.ranks

NEWS = News(in_force())


def command(*argv: str, limit_s: float = 20.0) -> RunCommand:
    """Return the action's teller for a program."""
    return RunCommand(RunCommandConfig(argv=argv, limit_s=limit_s), "node-7")


def shell(script: str, limit_s: float = 20.0) -> RunCommand:
    """Return it for a script."""
    return command("/bin/sh", "-c", script, limit_s=limit_s)


async def test_program_gets_the_news_when_it_is_run(tmp_path: Path) -> None:
    """As JSON to read, to its end, and as variables; its words are for the log."""
    told = shell(f"cat > {tmp_path}/read; env > {tmp_path}/env; echo well; echo done")
    assert await told.tell(NEWS) == "ended with status 0, saying well"
    assert json.loads((tmp_path / "read").read_text()) == document(NEWS, "node-7")
    lines = (tmp_path / "env").read_text().splitlines()
    assert {line for line in lines if line.startswith("REPRIEVE_NOTICE_")} == {
        "REPRIEVE_NOTICE_STATE=in_force",
        "REPRIEVE_NOTICE_ID=spot-1",
        "REPRIEVE_NOTICE_KIND=preemption",
        "REPRIEVE_NOTICE_URGENCY=stop",
        "REPRIEVE_NOTICE_SOURCE=test",
        "REPRIEVE_NOTICE_NODE=node-7",
        "REPRIEVE_NOTICE_DEADLINE=2026-11-30T10:07:06Z",
        "REPRIEVE_NOTICE_DRILL=false",
        f"REPRIEVE_NOTICE_TEXT={document(NEWS, 'node-7')['text']}",
    }


async def test_program_is_told_of_a_drill_when_it_is_one() -> None:
    """In a variable, and so in the text."""
    told = shell('echo "$REPRIEVE_NOTICE_DRILL $REPRIEVE_NOTICE_TEXT"')
    said = await told.tell(News(in_force(kind=NoticeKind.DRILL), is_withdrawal=True))
    assert "saying true DRILL, nothing is taken away. node-7: drill notice withdrawn" in said


async def test_program_runs_when_the_cloud_says_what_no_variable_can_hold() -> None:
    """Zeros, line ends, lone surrogates."""
    standing = in_force()
    wild = replace(standing.notice, id="a\0b\ud800\n", action="x\0", source="\ud800")
    said = await shell("env | grep -c ^REPRIEVE_NOTICE_").tell(News(replace(standing, notice=wild)))
    assert said == "ended with status 0, saying 9"


async def test_no_shell_reads_what_the_cloud_says() -> None:
    """The argument vector is the one of the settings."""
    standing = in_force()
    wild = News(replace(standing, notice=replace(standing.notice, action="; echo canary")))
    assert await command("/bin/echo", "$REPRIEVE_NOTICE_KIND").tell(wild) == (
        "ended with status 0, saying $REPRIEVE_NOTICE_KIND"
    )


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo oops >&2; exit 1", "ended with status 1, saying oops"),
        ("kill -9 $$", "ended with status -9, saying nothing"),
    ],
)
async def test_failure_is_said_and_not_repeated_when_the_program_fails(
    script: str, why: str
) -> None:
    """It is run once, whatever comes of it."""
    with pytest.raises(ActionRefused, match=why):
        await shell(script).tell(NEWS)


@pytest.mark.parametrize("program", ["/nonexistent", "/etc/passwd"])
async def test_failure_is_said_when_there_is_no_such_program(program: str) -> None:
    """With the system's reason."""
    with pytest.raises(ActionRefused, match="can't be started: "):
        await command(program).tell(NEWS)


async def test_whole_group_is_killed_when_the_program_hangs(tmp_path: Path) -> None:
    """Also a child that ignores SIGTERM."""
    pids = tmp_path / "pids"
    script = f"trap '' TERM; sleep 60 & echo $! > {pids}; echo $$ >> {pids}; wait"
    with pytest.raises(ActionRefused, match="has not ended within 2 s, and is killed"):
        await shell(script, limit_s=2).tell(NEWS)
    await eventually(lambda: not any(lives(int(pid)) for pid in pids.read_text().split()))


async def test_output_is_taken_in_and_cut_when_the_program_writes_100_mb() -> None:
    """It is not held up, nor is it kept."""
    script = "import sys; [sys.stdout.write('x' * 1_000_000) for _ in range(100)]"
    said = await command(sys.executable, "-c", script, limit_s=60).tell(NEWS)
    assert said == "ended with status 0, saying " + "x" * 256


async def test_program_is_over_when_it_leaves_others_behind(tmp_path: Path) -> None:
    """What stays in its group is killed; what has left the group is not ours, nor waited for."""
    near, far = tmp_path / "near", tmp_path / "far"
    script = (
        f"sleep 60 & echo $! > {near}; setsid sh -c 'echo $$ > {far}; exec sleep 60' & "
        f"until [ -s {far} ]; do sleep 0.01; done; echo gone"
    )
    assert await shell(script).tell(NEWS) == "ended with status 0, saying gone"
    await eventually(lambda: not lives(int(near.read_text())))
    with suppress(ProcessLookupError):
        os.kill(int(far.read_text()), signal.SIGKILL)


async def test_program_is_not_given_to_read_what_another_was_when_run_twice(
    tmp_path: Path,
) -> None:
    """Each has a file of its own, and none is left open."""
    told, before = shell(f"cat >> {tmp_path}/read; echo >> {tmp_path}/read"), _open_files()
    await told.tell(NEWS)
    await told.tell(News(in_force(), is_withdrawal=True))
    states = [json.loads(line)["state"] for line in (tmp_path / "read").read_text().splitlines()]
    assert states == ["in_force", "withdrawn"]
    await eventually(lambda: _open_files() == before)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_program_is_looked_for_at_the_start_when_it_is_not_there(tmp_path: Path) -> None:
    """So that the log says it before a notice comes."""
    await command("sh").check()
    (tmp_path / "plain").touch()
    for missing in ("/nonexistent", str(tmp_path / "plain")):
        with pytest.raises(ActionRefused, match=f"no program {missing}"):
            await command(missing).check()
