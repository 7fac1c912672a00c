"""``reprieve-trainer checkpoints``: rollback, quarantine, pin and gc change what is there."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.checkpoint_tool import Tool
from tests.support.saving import commit_save, write_save
from trainer_hooks.checkpoint.commit import commit, newest_attempt, start_attempt
from trainer_hooks.checkpoint.layout import Attempt, saves
from trainer_hooks.errors import FencedError

SHARD = "__0_0.distcp"


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
    taken = next(line for line in tool.lines("ls") if line.startswith("step_000000020"))
    assert said[3].rpartition(", ")[2] in taken  # the size that ls shows
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


def test_gc_fails_when_a_deletion_does(
    tool: Tool, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason; what can be deleted is, and the next one deletes the rest."""
    for step in (10, 20, 30):
        commit_save(tool.root, step, attempt)
    stuck = f"step_000000010.{attempt}"
    unlink, failed = os.unlink, list[str]()

    def fail_once(path: str | Path, **named: Any) -> None:  # noqa: ANN401 - as os.unlink takes
        if os.fspath(path).endswith(SHARD) and not failed:  # of the oldest, which is the first
            failed.append(stuck)
            raise OSError(errno.EIO, "Input/output error")
        unlink(path, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", fail_once)
        code, out, err = tool("gc", "--keep-last", "1")
    assert code == 1
    assert f"deleted 1: step_000000020.{attempt}" in out
    assert f"{stuck} could not be deleted: Input/output error" in err
    assert tool.lines("gc", "--keep-last", "1")[-1] == f"deleted 1: {stuck}"
    assert tool.steps == [30]


def test_nothing_is_deleted_when_none_shall_be_kept(tool: Tool, attempt: Attempt) -> None:
    """At least the last one always is."""
    commit_save(tool.root, 10, attempt)
    code, _, err = tool("gc", "--keep-last", "0")
    assert code == 78
    assert "at least the last checkpoint is kept" in err
    assert tool.newest_step == 10
