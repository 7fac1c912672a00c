"""``reprieve-trainer checkpoints`` on directories as crashes and people leave them."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.checkpoint_tool import Tool
from tests.support.launching import EXECUTABLE
from tests.support.retained import keep_last
from tests.support.saving import commit_save, write_save
from trainer_hooks import cli
from trainer_hooks.checkpoint.layout import MARKER, Attempt, SaveName, saves
from trainer_hooks.checkpoint.verification import Level, verify
from trainer_hooks.commands import judging

SHARD = "__0_0.distcp"


def test_saves_are_listed_with_what_they_are_worth_when_some_are_not_whole(
    tool: Tool, attempt: Attempt
) -> None:
    """Newest first, in four states, with a reason wherever it is no checkpoint."""
    for step in (10, 20, 30, 40):
        commit_save(tool.root, step, attempt)
    (tool.root / str(saves(tool.root)[1]) / SHARD).unlink()
    write_save(tool.root, 50, attempt)
    tool.lines("quarantine", "20", "--reason", "loss spike")
    tool.lines("pin", "10", "--reason", "paper")
    found = tool.ls()
    assert list(found) == [50, 40, 30, 20, 10]
    states = {step: (entry["state"], entry["reason"]) for step, entry in found.items()}
    assert states == {
        50: ("uncommitted", "no commit marker, the save never finished"),
        40: ("committed", None),
        30: ("torn", f"{SHARD} is missing"),
        20: ("quarantined", "loss spike"),
        10: ("committed", None),
    }
    assert [found[step]["world_size"] for step in found] == [None, 2, 2, 2, 2]
    assert found[10]["name"] == f"step_000000010.{attempt}"
    assert found[10]["pinned"] == "paper"
    whole = tool.root / found[10]["name"]
    assert found[10]["bytes"] == sum(p.stat().st_size for p in whole.rglob("*") if p.is_file())
    assert found[50]["bytes"] > 0


def test_table_has_a_line_for_each_save_when_people_look(tool: Tool, attempt: Attempt) -> None:
    """Aligned, with sizes and ages as people say them."""
    commit_save(tool.root, 10, attempt)
    os.truncate(commit_save(tool.root, 20, attempt) / SHARD, 0)
    tool.lines("pin", "10")
    tool.lines("verify", "10")
    head, torn, good = tool.lines("ls")
    assert head.split() == ["NAME", "STATE", "RANKS", "SIZE", "AGE", "VERIFIED", "NOTE"]
    assert re.search(rf"  never  +{SHARD} has 0 bytes, the marker says 15$", torn)
    assert good.startswith(f"step_000000010.{attempt}  committed  2      ")
    assert good.endswith("s (sizes)  pinned: by hand")
    assert " KiB " in good


def test_reason_cannot_upset_a_terminal_when_a_file_holds_escapes(
    tool: Tool, attempt: Attempt
) -> None:
    """It comes from a file that anybody may have written."""
    commit_save(tool.root, 10, attempt)
    tool.lines("pin", "10", "--reason", "\x1b[2Jgone\nnext line")
    assert tool.lines("ls")[1].endswith(r"pinned: \x1b[2Jgone\nnext line")


def test_list_is_empty_when_nothing_was_saved(tool: Tool) -> None:
    """A list all the same for programs; for people no heads of a table without lines."""
    assert tool.ls() == {}
    said = f"no checkpoint in {tool.root}, nor anything that was to become one"
    assert tool.lines("ls") == [said]


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("ls", []),
        ("verify", []),
        ("rollback", ["--before-step", "5"]),
        ("pin", ["10"]),
        ("quarantine", ["10"]),
        ("gc", []),
        ("export", ["--to", "none"]),
    ],
)
def test_directory_is_refused_when_it_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, arguments: list[str]
) -> None:
    """A wrong path must not look like an empty one."""
    code, out, err = Tool(tmp_path / "none", capsys)(command, *arguments)
    assert (code, out) == (78, "")
    assert err == f"reprieve-trainer: {tmp_path / 'none'} is no directory\n"


def test_verify_finds_damage_when_a_length_is_wrong(tool: Tool, attempt: Attempt) -> None:
    """In any of them, but for what is in quarantine or was never committed."""
    for step in (10, 20):
        commit_save(tool.root, step, attempt)
    write_save(tool.root, 30, attempt)
    assert len(tool.lines("verify")) == 2
    os.truncate(tool.root / f"step_000000020.{attempt}" / SHARD, 3)
    code, out, _ = tool("verify")
    assert code == 1
    assert out.splitlines()[0].endswith(f"{SHARD} has 3 bytes, the marker says 15")
    assert out.splitlines()[1].endswith("good (sizes)")
    tool.lines("verify", "10")
    tool.lines("quarantine", "20")
    tool.lines("verify")


def test_verify_is_content_when_the_run_deletes_what_was_listed(
    tool: Tool, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is no damage; but whoever names a checkpoint is told that it is none."""
    for step in (10, 20):
        commit_save(tool.root, step, attempt)

    def deleting(root: Path, name: SaveName, level: Level, _: object) -> list[str]:
        keep_last(root, 1)
        return verify(root, name, level)

    monkeypatch.setattr(judging, "verify", deleting)
    new, old = tool.lines("verify")
    assert new.endswith("good (sizes)")
    assert old == f"step_000000010.{attempt}  deleted meanwhile"
    commit_save(tool.root, 30, attempt)
    code, out, _ = tool("verify", "20")
    assert code == 1
    assert out.endswith("not a directory of ours\n")


def test_verify_looks_at_one_when_the_newest_is_meant(tool: Tool, attempt: Attempt) -> None:
    """The one that a run would try first, whole or not; neither older ones nor those in doubt."""
    for step in (10, 20, 30):
        commit_save(tool.root, step, attempt)
    write_save(tool.root, 40, attempt)
    tool.lines("quarantine", "30")
    os.truncate(tool.root / f"step_000000010.{attempt}" / SHARD, 3)
    assert tool.lines("verify", "--newest") == [f"step_000000020.{attempt}  good (sizes)"]
    os.truncate(tool.root / f"step_000000020.{attempt}" / SHARD, 3)
    assert tool("verify", "--newest")[0] == 1
    code, _, err = tool("verify", "10", "--newest")
    assert (code, err) == (78, "reprieve-trainer: either --newest or names: 10\n")


def test_verify_fails_when_there_is_nothing_to_verify(tool: Tool, attempt: Attempt) -> None:
    """Who looks every night wants to know it."""
    write_save(tool.root, 10, attempt)
    code, out, _ = tool("verify")
    assert (code, out) == (1, f"no committed checkpoint in {tool.root}\n")
    code, out, _ = tool("verify", "--json")
    assert (code, json.loads(out)) == (1, [])


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["delete", "DIR"],
        ["ls"],
        ["rollback", "DIR"],
        *[["rollback", "DIR", "--before-step", odd] for odd in ("-1", "1.5", "x", "٣", "")],
        ["gc", "DIR", "--keep-last", "-1"],
        ["pin", "DIR"],
        ["export", "DIR"],
    ],
)
def test_command_line_is_refused_when_it_makes_no_sense(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With what would."""
    assert cli.run(["checkpoints", *arguments]) == 78
    assert "usage: reprieve-trainer checkpoints" in capsys.readouterr().err


@pytest.mark.ranks
def test_end_is_one_line_when_the_reader_has_gone(tmp_path: Path) -> None:
    """As with ``| head``."""
    reader, writer = os.pipe()
    os.close(reader)
    arguments = [str(EXECUTABLE), "checkpoints", "ls", str(tmp_path)]
    done = subprocess.run(arguments, check=False, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 78
    assert done.stderr == "reprieve-trainer: standard output cannot be written: Broken pipe\n"


def test_state_is_uncommitted_when_a_checkpoint_is_being_deleted(
    tool: Tool, attempt: Attempt
) -> None:
    """Not torn: nobody has to be told."""
    directory = commit_save(tool.root, 10, attempt)
    (directory / MARKER).write_text('{"schema": 1, "deleted": true}')
    entry = tool.ls()[10]
    assert (entry["state"], entry["reason"]) == ("uncommitted", "it is being deleted")
