"""The local tier: the newest save that every rank has, newer than what all nodes share, or none."""

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import HashStore
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from tests.support.ranks import start_ranks
from tests.support.training import Run, plain
from trainer_hooks.checkpoint import local_tier
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.layout import ATTEMPTS, MARKER, saves
from trainer_hooks.checkpoint.local_load import LocalLoad
from trainer_hooks.checkpoint.local_tier import LocalTier
from trainer_hooks.checkpoint.quarantine import quarantine
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.errors import CheckpointError, ConfigError, StateError
from trainer_hooks.state import TrainState
from trainer_hooks.world import World

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

OWN = "rank_00000_of_00001"


def world() -> World:
    """Return a world of one."""
    store: Any = HashStore()
    return World(rank=0, size=1, store=store, group=None)


class Job:
    """A job of one rank with both tiers."""

    def __init__(self, directory: Path) -> None:
        self.durable = directory / "durable"
        self.local = directory / "local"
        self.run = Run()

    def start(self, *local_steps: int, durable_step: int | None = None) -> None:
        """Start an attempt; train, save where it is said, and die."""
        attempt = start_attempt(self.durable)
        tier = LocalTier(self.local, world(), attempt)
        tier.resume(self.run.state, self.durable)
        if durable_step is not None:
            self.run.step()
            checkpointer = Checkpointer(self.durable, world(), attempt, save_every_steps=1)
            checkpointer.save(self.run.state.capture(durable_step))
            checkpointer.wait(None)
            checkpointer.close()
        for step in local_steps:
            self.run.step()
            tier.save(self.run.state.capture(step))
            tier.wait()
        tier.close(30.0)

    def resume(self, run: Run) -> int | None:
        """Start another attempt; return the local step that it goes on from."""
        tier = LocalTier(self.local, world(), start_attempt(self.durable))
        point = tier.resume(run.state, self.durable)
        tier.close()
        return None if point is None else point.step


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job that has not begun."""
    return Job(tmp_path)


def test_state_comes_back_when_a_local_save_is_the_newest(job: Job) -> None:
    """Bit for bit; the last two are kept, and only the one that was taken after a resume."""
    job.start(2, 3, 4, durable_step=1)
    assert [name.step for name in saves(job.local / OWN)] == [4, 3]
    other = Run(seed=5)
    assert job.resume(other) == 4
    for mine, theirs in zip(job.run.all()[:3], other.all()[:3], strict=True):
        assert plain(mine) == plain(theirs)
    assert [name.step for name in saves(job.local / OWN)] == [4]


def test_nothing_local_is_taken_when_the_shared_storage_has_a_newer_one(job: Job) -> None:
    """That is resumed from as ever."""
    job.start(2, 3, durable_step=5)
    assert job.resume(Run(seed=5)) is None
    newest = latest_committed(job.durable)
    assert newest is not None
    assert newest.step == 5


def test_nothing_local_is_taken_when_a_start_has_died_of_it(job: Job) -> None:
    """Once only: the attempt after that goes on from what all nodes share."""
    job.start(2, 3, durable_step=1)
    assert job.resume(Run(seed=5)) == 3
    assert job.resume(Run(seed=5)) is None


def test_nothing_local_is_taken_when_what_it_came_from_is_in_quarantine(job: Job) -> None:
    """It carries on what was thrown away."""
    job.start(3, durable_step=2)
    newest = latest_committed(job.durable)
    assert newest is not None
    quarantine(job.durable, newest.marker.name, "a NaN")
    assert job.resume(Run(seed=5)) is None


@pytest.mark.parametrize("damage", ["a shard", "the marker"])
def test_nothing_local_is_taken_when_it_is_damaged(job: Job, damage: str) -> None:
    """Nor is another local one that is older: what all nodes share is safer."""
    job.start(3, durable_step=2)
    directory = job.local / OWN / str(saves(job.local / OWN)[0])
    path = directory / (MARKER if damage == "the marker" else "__0_0.distcp")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert job.resume(Run(seed=5)) is None


def test_directory_is_refused_when_it_is_another_runs(job: Job, tmp_path: Path) -> None:
    """Whose attempts have other numbers."""
    job.start()
    job.start(2)
    other = Job(tmp_path / "other")
    other.local = job.local
    with pytest.raises(ConfigError, match="another run"):
        other.start()


@pytest.mark.parametrize("starts", [0, 1])
def test_directory_is_refused_when_another_runs_starts_have_our_numbers(
    job: Job, tmp_path: Path, starts: int
) -> None:
    """Its saves fit, and would be taken for ours."""
    job.start(2, 3)
    other = Job(tmp_path / "other")
    for _ in range(starts):
        start_attempt(other.durable)
    other.local = job.local
    with pytest.raises(ConfigError, match="another run"):
        other.resume(Run(seed=5))
    assert [name.step for name in saves(job.local / OWN)] == [3, 2]


@pytest.mark.parametrize("where", ["durable", "local"])
def test_nothing_local_is_taken_when_nobody_knows_whose_it_is(job: Job, where: str) -> None:
    """What names the start before is damaged in one place: no reason to end the run for good."""
    job.start(2, 3, durable_step=1)
    root = job.durable if where == "durable" else job.local / OWN
    (root / ATTEMPTS / "1").write_bytes(b"\xff\x00")
    assert job.resume(Run(seed=5)) == (None if where == "durable" else 3)


def test_local_saves_go_on_when_something_foreign_lies_among_the_attempts(job: Job) -> None:
    """A directory there is none of ours."""
    job.start(2)
    (job.local / OWN / ATTEMPTS / "lost+found").mkdir()
    assert job.resume(Run(seed=5)) == 2


def test_start_may_be_tried_again_when_the_nodes_disk_is_full(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another node's may not be: it is no set-up that is wrong."""

    def create(_path: Path, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    attempt = start_attempt(job.durable)
    monkeypatch.setattr(local_tier, "create_file", create)
    with pytest.raises(CheckpointError, match="free space") as caught:
        LocalTier(job.local, world(), attempt)
    assert not isinstance(caught.value, ConfigError)


def test_local_save_is_resumed_when_the_disk_goes_once_it_is_read(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ranks have agreed on it by then: none may fail alone."""
    job.start(2)
    read = LocalLoad.read

    def read_and_lose(loading: LocalLoad) -> None:
        read(loading)
        shutil.rmtree(job.local)

        def lost(_: Path) -> list[Any]:
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(local_tier, "saves", lost)

    monkeypatch.setattr(LocalLoad, "read", read_and_lose)
    assert job.resume(Run(seed=5)) == 2


@pytest.mark.ranks
@pytest.mark.parametrize("how", ["precision", "restore"])
def test_all_ranks_hear_of_it_when_a_local_save_does_not_fit_one(tmp_path: Path, how: str) -> None:
    """One of two meets it, by a tensor or as it is restored: the other would wait for it."""
    durable, local = tmp_path / "durable", tmp_path / "local"

    def unfit(*_: object) -> None:
        raise StateError("it is another one in the checkpoint")

    def main(rank: int) -> None:
        ranks, run = World.connect(), Run(seed=rank)
        for starts in (1, 2):
            attempt = ranks.from_coordinator(start_attempt(durable) if rank == 0 else None)
            assert attempt is not None
            tier = LocalTier(local, ranks, attempt)
            if starts == 1:
                run.step()
                tier.save(run.state.capture(3))
                tier.wait()
                tier.close(30.0)
                ranks.from_all(None)
                continue
            if rank == 1 and how == "precision":
                run.model.to(torch.float64)
            elif rank == 1:
                run.state.restore = unfit  # type: ignore[assignment, method-assign]  # in a forked child
            with pytest.raises(StateError, match="in the checkpoint"):
                tier.resume(run.state, durable)

    job = start_ranks(2, main, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)


@pytest.mark.ranks
def test_save_before_is_taken_when_one_rank_lacks_the_newest(tmp_path: Path) -> None:
    """A save is the job's where every rank has its own."""
    durable, local = tmp_path / "durable", tmp_path / "local"

    def main(rank: int) -> None:
        ranks, run = World.connect(), Run(seed=rank)
        for starts in (1, 2):
            attempt = ranks.from_coordinator(start_attempt(durable) if rank == 0 else None)
            assert attempt is not None
            tier = LocalTier(local, ranks, attempt)
            point = tier.resume(run.state, durable)
            if starts == 2:
                print("resumed", None if point is None else point.step)  # noqa: T201 - read below
                return
            for step in (3, 4) if rank == 0 else (3,):
                run.step()
                tier.save(run.state.capture(step))
                tier.wait()

    job = start_ranks(2, main, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert [job.log(rank).splitlines()[-1] for rank in (0, 1)] == ["resumed 3"] * 2
    assert [name.step for name in saves(local / "rank_00000_of_00002")] == [3]


def sharded(seed: int) -> tuple[TrainState, nn.Module]:
    """Return a model that FSDP has sharded over the ranks, after a step."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    state = TrainState(model=model, optimizer=optimizer, scheduler=None, scaler=None, data=None)
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    return state, model


@pytest.mark.ranks
def test_shards_come_back_when_each_rank_has_its_own(tmp_path: Path) -> None:
    """As FSDP has cut them: no rank reads another's, and none holds the whole."""
    durable, local = tmp_path / "durable", tmp_path / "local"

    def main(rank: int) -> None:
        ranks = World.connect()
        state, model = sharded(seed=1)
        other, loaded = sharded(seed=2)
        point = None
        for into in (state, other):
            attempt = ranks.from_coordinator(start_attempt(durable) if rank == 0 else None)
            assert attempt is not None
            tier = LocalTier(local, ranks, attempt)
            point = tier.resume(into, durable)
            if into is state:
                tier.save(state.capture(7))
                tier.wait()
        assert point is not None
        assert point.step == 7
        for mine, theirs in zip(state.template().values(), other.template().values(), strict=True):
            assert torch.equal(local_part(mine), local_part(theirs))
        assert sum(p.numel() for p in loaded.parameters()) > sum(
            local_part(p).numel() for p in model.parameters()
        )

    job = start_ranks(2, main, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """Return what this rank holds of it."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
