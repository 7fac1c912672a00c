"""``reprieve-trainer checkpoints`` on what people, crashes and enemies may leave in a directory."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.checkpoint_tool import Tool
from tests.support.saving import commit_save
from trainer_hooks import cli
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.layout import MARKER, Attempt
from trainer_hooks.checkpoint.manifest import sealed
from trainer_hooks.checkpoint.marks import Mark
from trainer_hooks.checkpoint.pins import READERS
from trainer_hooks.launch.exit_codes import EXIT_CONFIG

EVIL = "\x1b[2J\nstep_000000090.a1-ffff  committed"
"""Clears the screen, and adds a line that looks like ours."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

Upset = Callable[[Path], object]
"""Does something to the directory of the newest of three checkpoints."""


def say(**words: object) -> Upset:
    """Have the marker say something else, with the right digest."""

    def upset(newest: Path) -> None:
        body = json.loads((newest / MARKER).read_bytes())
        (newest / MARKER).write_bytes(
            sealed({key: value for key, value in (body | words).items() if key != "digest"})
        )

    return upset


def mark(kind: str, **words: object) -> Upset:
    """Mark it, in words of anybody's."""

    def upset(newest: Path) -> None:
        path = newest.parent / kind / newest.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"schema": 1, **words}))

    return upset


def replace_marker(make: Callable[[Path], object]) -> Upset:
    """Put something else in the marker's place."""

    def upset(newest: Path) -> None:
        (newest / MARKER).unlink()
        make(newest / MARKER)

    return upset


def loops(newest: Path) -> None:
    """Lead nowhere: a save, its state, and what is known of others."""
    for path in (
        newest.with_name(newest.name.replace("30", "99")),
        *(newest.parent / kind for kind in (Mark.PINNED, Mark.VERIFIED, READERS)),
    ):
        path.symlink_to(path.name)


def state_loops(newest: Path) -> None:
    """Have no state, but a link where it was."""
    shutil.rmtree(newest / "state")
    (newest / "state").symlink_to("state")


def odd_reader(newest: Path) -> None:
    """Read it until a moment that is none, and by a fifo."""
    (newest.parent / READERS).mkdir()
    (newest.parent / READERS / f"{newest.name}.x").write_text('{"until": "0001-01-01T00:00+23:59"}')
    os.mkfifo(newest.parent / READERS / f"{newest.name}.y")


UPSETS: dict[str, Upset] = {
    "loops": loops,
    "a save that leads to itself": lambda newest: newest.with_name(
        newest.name.replace("30", "99")
    ).symlink_to(newest.name.replace("30", "99")),
    "marker is a directory": replace_marker(Path.mkdir),
    "marker is a fifo": replace_marker(os.mkfifo),
    "marker leads to itself": replace_marker(lambda path: path.symlink_to(MARKER)),
    "marker of 1 GiB": lambda newest: os.truncate(newest / MARKER, 1 << 30),
    "marker is deep": lambda newest: (newest / MARKER).write_bytes(b'{"a":' * 10_000),
    "marker holds a long number": replace_marker(lambda p: p.write_bytes(b"1" * 10_000)),
    "marker is of year 1": say(created="0001-01-01T00:00:00+23:59"),
    "marker is of year 9999": say(created="9999-12-31T23:59:59-23:59"),
    "marker is of no rank": say(world_size=-5),
    "marker speaks": say(attempt=EVIL, created=EVIL),
    "marker's instant speaks": say(created=EVIL),
    "marker's files speak": say(files=[EVIL]),
    "pin speaks": mark(Mark.PINNED, reason=EVIL),
    "quarantine speaks": mark(Mark.QUARANTINED, reason=EVIL),
    "verdict speaks": mark(Mark.VERIFIED, at=EVIL, level="load", damage=[EVIL]),
    "marks are files": lambda newest: (newest.parent / Mark.PINNED).write_text(""),
    "attempts are gone": lambda newest: shutil.rmtree(newest.parent / ".attempts"),
    "attempt is a directory": lambda newest: (newest.parent / ".attempts" / "7").mkdir(),
    "foreign file": lambda newest: (newest / "home\x1b[2J\n").write_text(""),
    "index speaks": lambda newest: (newest / ".metadata").write_bytes(b"cos\x1b[2J\nevil\n."),
    "shard is endless": lambda newest: os.truncate(newest / "__0_0.distcp", 1 << 42),
    "state leads to itself": state_loops,
    "odd reader": odd_reader,
}  # fmt: skip

COMMANDS = [
    ["ls"],
    ["ls", "--json"],
    ["verify"],
    ["verify", "--newest", "--json"],
    ["pin", "10"],
    ["quarantine", "30"],
    ["quarantine", "--undo", "30"],
    ["gc", "--dry-run", "--keep-last", "1", "--hourly", "1"],
    ["gc", "--keep-last", "1", "--daily", "1"],
    ["rollback", "--before-step", "25"],
]


@pytest.mark.parametrize("kind", UPSETS)
def test_command_ends_in_order_when_a_directory_is_odd(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    kind: str,
) -> None:
    """Each of them: it neither hangs nor raises, and nothing that it says upsets a terminal."""
    attempt = start_attempt(tmp_path)
    UPSETS[kind]([commit_save(tmp_path, step, attempt) for step in (10, 20, 30)][-1])
    tool = Tool(tmp_path, capsys)
    for command, *arguments in COMMANDS:
        code, out, err = tool(command, *arguments)
        assert code in {0, cli.FAILED, EXIT_CONFIG}
        assert not CONTROL.search(out + err + caplog.text), (command, out, err, caplog.text)
        assert "\nstep_000000090" not in out + err + caplog.text
        assert out or err


def test_others_are_listed_when_a_save_leads_to_itself(tool: Tool, attempt: Attempt) -> None:
    """It is no checkpoint, and hides none."""
    commit_save(tool.root, 10, attempt)
    (tool.root / f"step_000000020.{attempt}").symlink_to(f"step_000000020.{attempt}")
    states = {step: (entry["state"], entry["reason"]) for step, entry in tool.ls().items()}
    assert states == {20: ("uncommitted", "not a directory of ours"), 10: ("committed", None)}


def test_start_is_not_held_up_when_a_fifo_is_called_an_export(tmp_path: Path) -> None:
    """To open it is to wait for somebody who writes to it."""
    os.mkfifo(tmp_path / "model.safetensors")
    assert start_attempt(tmp_path).number == 1


def test_start_takes_a_number_when_an_older_one_cannot_be_removed(tmp_path: Path) -> None:
    """The new number is what fences the older ones off."""
    (tmp_path / ".attempts" / "7").mkdir(parents=True)
    assert start_attempt(tmp_path).number == 8


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000], ids=["long", "deep"])
def test_directory_is_refused_when_its_name_can_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """In one line, as any that is not there."""
    code, out, err = Tool(tmp_path / name, capsys)("ls")
    assert (code, out) == (EXIT_CONFIG, "")
    assert err.endswith("cannot be read: File name too long\n")
    assert err.count("\n") == 1


def test_rollback_says_each_thing_once_when_much_is_in_quarantine(
    tool: Tool, attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    """What went into quarantine, and where the job goes on; the log has nothing to add."""
    for step in (10, 20, 30):
        commit_save(tool.root, step, attempt)
    assert len(tool.lines("rollback", "--before-step", "25")) == 2
    assert len(tool.lines("rollback", "--before-step", "15")) == 2
    assert caplog.text == ""
