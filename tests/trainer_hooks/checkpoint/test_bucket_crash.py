"""A crash or a failure at every call of an object store: checkpoints are whole or none."""

import contextlib
import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.failing_system import Crashed, System, failing
from tests.support.saving import commit_save, directory_as_bucket, write_save
from trainer_hooks.checkpoint.bucket import Bucket
from trainer_hooks.checkpoint.commit import commit, start_attempt
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import committed, damaged_files
from trainer_hooks.checkpoint.layout import Attempt, SaveName, saves
from trainer_hooks.checkpoint.place import ObjectPlace
from trainer_hooks.checkpoint.retention import retain
from trainer_hooks.errors import CheckpointError

KEEP = Keep(last=2)
CALLS: list[tuple[object, str]] = [
    (Bucket, name) for name in ("put", "_create", "delete", "get", "size", "sizes", "children")
]


def bucket(path: Path) -> ObjectPlace:
    """Return a directory as a bucket."""
    place = directory_as_bucket(path)
    assert place.bucket.creates_once
    return place


class Job:
    """A job with three checkpoints and a dead leftover, whose newer attempt is about to commit."""

    def __init__(self, template: Path) -> None:
        self._template = template
        root = bucket(template)
        older = start_attempt(root)
        for step in (10, 20, 30):
            commit_save(root, step, older)
        write_save(root, 35, older)
        self.attempt: Attempt = start_attempt(root)
        self.name: SaveName = write_save(root, 40, self.attempt)

    def copy(self, path: Path) -> ObjectPlace:
        """Return a copy of the bucket."""
        shutil.copytree(self._template, path)
        return bucket(path)

    def commit(self, root: ObjectPlace) -> None:
        """Commit the newer attempt's save."""
        commit(root, self.name, world_size=2, save_every_steps=10, took_s=1.5)

    def delete(self, root: ObjectPlace) -> None:
        """Delete old checkpoints, and the leftover."""
        retain(root, KEEP, lambda: True)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Run one."""
    return Job(tmp_path / "template")


def steps_after(
    act: Callable[[ObjectPlace], None], root: ObjectPlace, failure: BaseException, fail_at: int
) -> list[int]:
    """Act on a failing store; return the steps of the checkpoints, which must all be whole."""
    system = System(fail_at, failure)
    with failing(system, calls=CALLS), contextlib.suppress(Crashed, CheckpointError):
        act(root)
    if len(system.calls) < fail_at:
        return []
    found = list(committed(root))
    assert [damaged_files(checkpoint) for checkpoint in found] == [[]] * len(found)
    return [checkpoint.step for checkpoint in found]


@pytest.mark.parametrize("failure", [Crashed(), OSError(errno.EIO, "Service Unavailable")])
def test_newest_is_old_or_new_when_a_commit_fails_at_any_call(
    tmp_path: Path, job: Job, failure: BaseException
) -> None:
    """Old up to one call, new from there on."""
    seen = []
    for fail_at in range(1, 1000):
        root = job.copy(tmp_path / str(fail_at))
        if not (steps := steps_after(job.commit, root, failure, fail_at)):
            break
        seen.append(steps[0])
    print(f"failed at each of {len(seen)} calls of a commit in a bucket")  # noqa: T201 - shown by -s
    old = seen.count(30)
    assert seen == [30] * old + [40] * (len(seen) - old)
    assert 5 < old < len(seen)


@pytest.mark.parametrize("failure", [Crashed(), OSError(errno.EIO, "Service Unavailable")])
def test_checkpoints_are_whole_or_none_when_a_deletion_fails_at_any_call(
    tmp_path: Path, job: Job, failure: BaseException
) -> None:
    """And the next attempt deletes what was left, to the last object."""
    lengths = set()
    for fail_at in range(1, 1000):
        root = job.copy(tmp_path / str(fail_at))
        job.commit(root)
        if not (steps := steps_after(job.delete, root, failure, fail_at)):
            break
        assert steps[:2] == [40, 30]
        lengths.add(len(steps))
        start_attempt(root)
        job.delete(root)
        assert [name.step for name in saves(root)] == [40, 30]
        assert [found.step for found in committed(root)] == [40, 30]
    print(f"failed at each of {fail_at - 1} calls of a deletion in a bucket")  # noqa: T201 - shown by -s
    assert lengths == {2, 3, 4}
