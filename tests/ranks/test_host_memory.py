"""Ranks in a real cgroup that their copies do not fit into: it is said before the kernel kills."""

import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import latest_committed
from trainer_hooks.checkpoint import preflight
from trainer_hooks.checkpoint.preflight import Shared
from trainer_hooks.checkpoint.staging import staged_bytes

pytestmark = pytest.mark.ranks

WIDTH = 1200
PARAMETERS = WIDTH * WIDTH + 7 * WIDTH + 1
STATE_BYTES = PARAMETERS * 4 * 3 + 6 * 4
"""Of each rank: weights, AdamW's two moments, and a step for each of six tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """A cgroup of either version, made for one test."""

    path: Path
    limit: Path
    usage: Path

    def join(self) -> None:
        """Move this process into it; what it has by now is charged to the one before."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def leave_only(self, more_bytes: int) -> None:
        """Let its processes take so much more."""
        self.limit.write_text(str(int(self.usage.read_text()) + more_bytes))

    def lift(self) -> None:
        """Let them take what they like, but keep a limit, or it would be no bound at all."""
        self.limit.write_text(str(2**40))


@pytest.fixture
def cgroup() -> Iterator[Cgroup]:
    """Make a cgroup with the memory controller, below the top."""
    top = Path("/sys/fs/cgroup")
    v1 = (top / "memory/memory.limit_in_bytes").exists()
    control = top / "cgroup.subtree_control"
    v2 = control.exists() and "memory" in control.read_text().split()
    if os.geteuid() != 0 or not (v1 or v2):
        pytest.skip("no cgroup can be made here: it takes root, and a memory controller")
    path = (top / "memory" if v1 else top) / f"reprieve-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    names = (
        ("memory.limit_in_bytes", "memory.usage_in_bytes")
        if v1
        else ("memory.max", "memory.current")
    )
    cgroup = Cgroup(path=path, limit=path / names[0], usage=path / names[1])
    cgroup.lift()
    yield cgroup
    path.rmdir()


def train(tmp_path: Path, cgroup: Cgroup, *, is_lifted: bool) -> Job:
    """Train in ranks that have no room for the copies of both, as the first save comes."""
    (tmp_path / "log").mkdir()

    def prepare(rank: int) -> None:
        cgroup.join()
        say = preflight.say

        def bounded(tensors: Iterable[torch.Tensor]) -> int:
            cgroup.leave_only(STATE_BYTES * 3 // 2)
            return staged_bytes(tensors)

        def say_and_lift(shared: Shared) -> None:
            say(shared)
            cgroup.lift()

        if rank == 0:
            preflight.staged_bytes = bounded  # type: ignore[attr-defined]
        if is_lifted:
            preflight.say = say_and_lift

    tiny = Tiny(
        checkpoint_dir=tmp_path / "checkpoints",
        log_dir=tmp_path / "log",
        width=WIDTH,
        steps=12,
        before_steps=prepare,
    )
    return start_ranks(2, tiny.train, tmp_path / "out")


def warning(cgroup: Cgroup) -> str:
    """Return how the warning begins that has to come."""
    return (
        "HOST MEMORY MAY NOT DO: the copies that 2 ranks of this node save from take "
        f"{2 * STATE_BYTES / 2**20:.1f} MiB of host memory, and the cgroup /{cgroup.path.name} has "
    )


def test_run_is_warned_before_its_first_save_when_the_copies_do_not_fit(
    tmp_path: Path, cgroup: Cgroup
) -> None:
    """By one rank, with the kernel's own figures; the run is not failed for it."""
    job = train(tmp_path, cgroup, is_lifted=True)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert job.log(0).count(warning(cgroup)) == 1, job.log(0)
    assert job.log(0).index("HOST MEMORY") < job.log(0).index("committed step=10")
    assert "HOST MEMORY" not in job.log(1)
    checkpoint = latest_committed(tmp_path / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == 12


@pytest.mark.slow
def test_warning_is_there_when_the_kernel_has_killed_a_rank(tmp_path: Path, cgroup: Cgroup) -> None:
    """As it announced: who looks for the reason finds it in the log."""
    job = train(tmp_path, cgroup, is_lifted=False)
    assert -signal.SIGKILL in job.wait(50), job.log(0) + job.log(1)
    assert warning(cgroup) in job.log(0)
    assert latest_committed(tmp_path / "checkpoints") is None
