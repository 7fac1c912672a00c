"""``reprieve-trainer checkpoints`` on directories as crashes and people leave them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.launching import EXECUTABLE
from tests.support.saving import commit_save, write_save
from trainer_hooks import cli
from trainer_hooks.checkpoint.commit import commit, newest_attempt, start_attempt
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.layout import MARKER, Attempt, saves
from trainer_hooks.errors import FencedError

SHARD = "__0_0.distcp"


class Tool:
    """The command on one directory, as a user calls it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def __call__(self, command: str, *arguments: str) -> tuple[int, str, str]:
        """Return the exit code, and what was printed where."""
        self._capsys.readouterr()
        code = cli.run(["checkpoints", command, str(self.root), *arguments])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def lines(self, command: str, *arguments: str) -> list[str]:
        """Return what a command that succeeds has printed."""
        code, out, err = self(command, *arguments)
        assert (code, err) == (0, "")
        return out.splitlines()

    def ls(self) -> dict[int, dict[str, Any]]:
        """Return what ``ls --json`` says, by step."""
        return {entry["step"]: entry for entry in json.loads("\n".join(self.lines("ls", "--json")))}

    @property
    def newest_step(self) -> int | None:
        """Where a run would go on."""
        newest = latest_committed(self.root)
        return None if newest is None else newest.step

    @property
    def steps(self) -> list[int]:
        """The steps of the directories that are there."""
        return [name.step for name in saves(self.root)]


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """Start an attempt."""
    return start_attempt(tmp_path)


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Look at the test's directory."""
    return Tool(tmp_path, capsys)


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
    """A list all the same."""
    assert tool.ls() == {}
    assert len(tool.lines("ls")) == 1


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


def test_verify_fails_when_there_is_nothing_to_verify(tool: Tool, attempt: Attempt) -> None:
    """Who looks every night wants to know it."""
    write_save(tool.root, 10, attempt)
    code, out, _ = tool("verify")
    assert (code, out) == (1, f"no committed checkpoint in {tool.root}\n")
    code, out, _ = tool("verify", "--json")
    assert (code, json.loads(out)) == (1, [])


def test_job_goes_on_before_the_step_when_it_was_rolled_back(tool: Tool, attempt: Attempt) -> None:
    """Everything from the step on is in quarantine, whole or torn, and stays there."""
    for step in (10, 20, 30, 40):
        commit_save(tool.root, step, attempt)
    os.truncate(tool.root / f"step_000000040.{attempt}" / SHARD, 3)
    lines = tool.lines("rollback", "--before-step", "30", "--reason", "NaN")
    assert [line.split()[0][:14] for line in lines[:2]] == ["step_000000040", "step_000000030"]
    assert lines[2:] == [f"the job goes on from step_000000020.{attempt}"]
    assert tool.newest_step == 20
    assert [entry["state"] for entry in tool.ls().values()] == [
        "quarantined", "quarantined", "committed", "committed",
    ]  # fmt: skip
    assert tool.lines("rollback", "--before-step", "30") == lines[2:]


def test_running_job_can_commit_nothing_more_when_it_is_rolled_back(
    tool: Tool, attempt: Attempt
) -> None:
    """What it trains on is what shall be forgotten."""
    commit_save(tool.root, 10, attempt)
    in_flight = write_save(tool.root, 20, attempt)
    tool.lines("rollback", "--before-step", "15")
    assert newest_attempt(tool.root) > attempt.number
    shutil.copytree(tool.root / f"step_000000010.{attempt}", tool.root / str(in_flight))
    with pytest.raises(FencedError):
        commit(tool.root, in_flight, world_size=2, save_every_steps=10, took_s=1.5)
    assert tool.newest_step == 10


def test_nothing_is_changed_when_no_checkpoint_is_before_the_step(
    tool: Tool, attempt: Attempt
) -> None:
    """The job would not start any more; and a run on its way is left alone."""
    commit_save(tool.root, 10, attempt)
    code, _, err = tool("rollback", "--before-step", "10")
    assert code == 1
    assert "no checkpoint before step 10 is whole" in err
    assert tool.newest_step == 10
    assert newest_attempt(tool.root) == attempt.number


def test_checkpoint_counts_again_when_its_quarantine_is_undone(
    tool: Tool, attempt: Attempt
) -> None:
    """And it is said where the job goes on, or that it does not."""
    name = commit_save(tool.root, 10, attempt).name
    lines = tool.lines("quarantine", name)
    assert lines[0] == f"{name}  quarantined: by hand"
    assert lines[1].startswith("no committed checkpoint is left")
    assert tool.newest_step is None
    lines = tool.lines("quarantine", "--undo", name)
    assert lines == [f"{name}  no longer in quarantine", f"the job goes on from {name}"]
    assert tool.newest_step == 10


def test_only_what_is_said_is_deleted_when_it_was_a_dry_run_before(
    tool: Tool, attempt: Attempt
) -> None:
    """The same lines, and then it is gone."""
    for step in (10, 20, 30):
        commit_save(tool.root, step, attempt)
    write_save(tool.root, 35, attempt)
    commit_save(tool.root, 40, start_attempt(tool.root))
    tool.lines("pin", "10", "--reason", "paper")
    said = tool.lines("gc", "--dry-run", "--keep-last", "2")
    assert [line.split()[:2] for line in said] == [
        ["keep", str(saves(tool.root)[0])],
        ["keep", f"step_000000030.{attempt}"],
        ["keep", f"step_000000010.{attempt}"],
        ["delete", f"step_000000020.{attempt}"],
        ["delete", f"step_000000035.{attempt}"],
    ]
    assert said[2].endswith("pinned: paper")
    assert tool.steps == [40, 35, 30, 20, 10]
    *again, deleted = tool.lines("gc", "--keep-last", "2")
    assert again == said
    assert deleted.startswith("deleted 2: ")
    assert tool.steps == [40, 30, 10]
    tool.lines("pin", "--undo", "10")
    tool.lines("gc", "--keep-last=1", "--hourly=1", "--daily=1")
    assert tool.steps == [40]


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("30", "no save of the name or step 30"),
        ("20", "step 20 was saved more than once"),
        ("../10", "no save of the name or step ../10"),
        ("LATEST", "no save of the name or step LATEST"),
    ],
)
def test_name_is_refused_when_it_is_not_exactly_one(
    tool: Tool, attempt: Attempt, word: str, why: str
) -> None:
    """Before anything is done to another one of them."""
    commit_save(tool.root, 20, attempt)
    newer = start_attempt(tool.root)
    for step in (10, 20):
        commit_save(tool.root, step, newer)
    code, out, err = tool("quarantine", "10", word)
    assert (code, out) == (78, "")
    assert why in err
    assert "quarantined" not in {entry["state"] for entry in tool.ls().values()}


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


def test_nothing_is_deleted_when_none_shall_be_kept(tool: Tool, attempt: Attempt) -> None:
    """At least the last one always is."""
    commit_save(tool.root, 10, attempt)
    code, _, err = tool("gc", "--keep-last", "0")
    assert code == 78
    assert "at least the last checkpoint is kept" in err
    assert tool.newest_step == 10


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
