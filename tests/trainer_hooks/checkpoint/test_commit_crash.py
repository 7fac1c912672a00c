"""A crash or a failure at every call that commit makes of the system: old or new, never neither."""

import contextlib
import errno
import os
from pathlib import Path

import pytest

from tests.support.failing_system import Crashed, System, failing
from tests.support.saving import commit_save, write_save
from trainer_hooks.checkpoint.commit import commit, start_attempt
from trainer_hooks.checkpoint.latest import damaged_files, latest_committed
from trainer_hooks.errors import CheckpointError


def newest_step(root: Path) -> int | None:
    """Return the step of the newest checkpoint, which must be whole to the last bit."""
    newest = latest_committed(root)
    if newest is None:
        return None
    assert damaged_files(newest) == []
    return newest.step


def commit_with(
    root: Path, failure: BaseException, fail_at: int | None, *, has_hard_links: bool
) -> list[str]:
    """Commit step 20 beside step 10 on a failing system; return the calls that it has seen."""
    attempt = start_attempt(root)
    commit_save(root, 10, attempt)
    name = write_save(root, 20, attempt)
    system = System(fail_at, failure)
    with (
        failing(system, has_hard_links=has_hard_links),
        contextlib.suppress(Crashed, CheckpointError),
    ):
        commit(root, name, world_size=2, save_every_steps=10, took_s=1.5)
    return system.calls


@pytest.mark.parametrize("has_hard_links", [True, False])
def test_newest_is_old_or_new_when_the_machine_stops_at_any_call(
    tmp_path: Path, *, has_hard_links: bool
) -> None:
    """Old up to one call, new from there on; and the job starts again over what was left."""
    calls = commit_with(tmp_path / "whole", Crashed(), None, has_hard_links=has_hard_links)
    assert newest_step(tmp_path / "whole") == 20
    steps = []
    for fail_at in range(1, len(calls) + 1):
        root = tmp_path / str(fail_at)
        commit_with(root, Crashed(), fail_at, has_hard_links=has_hard_links)
        steps.append(newest_step(root))
        commit_save(root, 30)
        assert newest_step(root) == 30
    print(f"stopped at each of {len(calls)} calls of a commit")  # noqa: T201 - shown by -s
    marked = calls.index("link" if has_hard_links else "rename") + 1
    assert steps == [10] * marked + [20] * (len(calls) - marked)


@pytest.mark.parametrize("has_hard_links", [True, False])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_newest_is_old_or_new_when_any_call_fails(
    tmp_path: Path, number: int, *, has_hard_links: bool
) -> None:
    """Reported as an error of ours or not at all, with no temporary file left that can go."""
    failure = OSError(number, os.strerror(number))
    calls = commit_with(tmp_path / "whole", failure, None, has_hard_links=has_hard_links)
    print(f"failed at each of {len(calls)} calls of a commit")  # noqa: T201 - shown by -s
    for fail_at, call in enumerate(calls, start=1):
        root = tmp_path / str(fail_at)
        commit_with(root, failure, fail_at, has_hard_links=has_hard_links)
        assert newest_step(root) in (10, 20)
        assert [*root.rglob("*.tmp")] == [] or call == "unlink"
