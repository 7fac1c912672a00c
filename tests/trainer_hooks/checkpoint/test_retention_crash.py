"""A crash or a failure at every call that retention makes: what is kept stays whole."""

import contextlib
import errno
import os
import shutil
from pathlib import Path

import pytest

from tests.support.failing_system import Crashed, System, failing
from tests.support.saving import commit_save, write_save
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import committed, damaged_files
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.checkpoint.marks import Mark
from trainer_hooks.checkpoint.retention import Retention, retain

KEEP = Keep(last=2)


class Job:
    """A job with four checkpoints and a dead leftover, copied for every crash."""

    def __init__(self, template: Path) -> None:
        self._template = template
        older = start_attempt(template)
        for step in (10, 20, 30):
            commit_save(template, step, older)
        write_save(template, 35, older)
        self._attempt = start_attempt(template)
        commit_save(template, 40, self._attempt)

    def delete(self, root: Path, failure: BaseException, fail_at: int | None) -> list[str]:
        """Delete in a copy on a failing system; return the calls that it has seen."""
        shutil.copytree(self._template, root)
        retention = Retention(root, KEEP, self._attempt)
        system = System(fail_at, failure)
        with failing(system, has_hard_links=True), contextlib.suppress(Crashed):
            retention.after_commit()
        return system.calls


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Run one."""
    return Job(tmp_path / "template")


def whole_steps(root: Path) -> list[int]:
    """Return the steps of the checkpoints, which must all be whole to the last bit."""
    found = list(committed(root))
    assert [damaged_files(checkpoint) for checkpoint in found] == [[]] * len(found)
    return [checkpoint.step for checkpoint in found]


def all_steps(root: Path) -> list[int]:
    """Return the steps of all directories."""
    return [name.step for name in saves(root)]


def test_checkpoints_are_whole_or_none_when_the_machine_stops_at_any_call(
    tmp_path: Path, job: Job
) -> None:
    """And the next attempt deletes what was left, to the last file."""
    calls = job.delete(tmp_path / "whole", Crashed(), None)
    assert all_steps(tmp_path / "whole") == whole_steps(tmp_path / "whole") == [40, 30]
    seen = set()
    for fail_at in range(1, len(calls) + 1):
        root = tmp_path / str(fail_at)
        job.delete(root, Crashed(), fail_at)
        left = whole_steps(root)
        assert left in ([40, 30, 20, 10], [40, 30, 20], [40, 30])
        seen.add(len(left))
        start_attempt(root)
        retain(root, KEEP, lambda: True)
        assert all_steps(root) == whole_steps(root) == [40, 30]
        assert list((root / Mark.UNFINISHED).glob("step_*")) == []
    print(f"stopped at each of {len(calls)} calls of a deletion")  # noqa: T201 - shown by -s
    assert seen == {2, 3, 4}
    assert len(calls) > 80


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_checkpoints_are_whole_or_none_when_any_call_fails(
    tmp_path: Path, job: Job, number: int
) -> None:
    """Nothing is raised in the run, and the next attempt deletes what was left."""
    failure = OSError(number, os.strerror(number))
    calls = job.delete(tmp_path / "whole", failure, None)
    print(f"failed at each of {len(calls)} calls of a deletion")  # noqa: T201 - shown by -s
    for fail_at in range(1, len(calls) + 1):
        root = tmp_path / str(fail_at)
        job.delete(root, failure, fail_at)
        assert whole_steps(root) in ([40, 30, 20, 10], [40, 30, 20], [40, 30, 10], [40, 30])
        start_attempt(root)
        retain(root, KEEP, lambda: True)
        assert all_steps(root) == whole_steps(root) == [40, 30]


def test_room_is_made_when_the_disk_is_full(
    tmp_path: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no room for a tombstone either."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    job.delete(tmp_path / "full", Crashed(), None)
    monkeypatch.undo()
    assert all_steps(tmp_path / "full") == whole_steps(tmp_path / "full") == [40, 30]
