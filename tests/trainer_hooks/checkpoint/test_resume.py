"""Resuming in a world of one: bit by bit, from the newest whole checkpoint, or not at all."""

import errno
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed import HashStore

from tests.support.flipping import flip_bit
from tests.support.saving import on_disk
from tests.support.training import Run
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.layout import MARKER, saves
from trainer_hooks.checkpoint.marks import Mark, put_mark
from trainer_hooks.checkpoint.resume import Verify, resume
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import CheckpointError, StateError
from trainer_hooks.world import World

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def world(size: int = 1) -> World:
    """Return a world of one, or the first rank of a larger one."""
    store: Any = HashStore()
    return World(rank=0, size=size, store=store, group=None)


def train_and_save(root: Path, run: Run, steps: list[int]) -> None:
    """Train up to the last of some steps, and commit a checkpoint at each of them."""
    checkpointer = Checkpointer(root, world(), start_attempt(root), save_every_steps=1)
    for step in range(1, steps[-1] + 1):
        run.step()
        if step in steps:
            checkpointer.save(run.state.capture(step))
            assert checkpointer.wait(None)
            assert checkpointer.failure is None
    checkpointer.close()


def resumed_step(root: Path, run: Run) -> int | None:
    """Resume a run, random numbers last; return its step."""
    point = resume(root, run.state, world())
    if point is None:
        return None
    point.restore_rng(0, 0)
    return point.step


def directory(root: Path, step: int) -> Path:
    """Return the directory of a save."""
    (name,) = [name for name in saves(root) if name.step == step]
    return root / str(name)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "momentum"])
@pytest.mark.parametrize("scheduler", ["none", "lambda", "sequential", "plateau"])
def test_training_goes_on_bitwise_when_it_is_resumed(
    tmp_path: Path, optimizer: str, scheduler: str
) -> None:
    """Through real files: weights, moments, schedule, averages, data position, random numbers."""
    straight = Run(optimizer=optimizer, scheduler=scheduler, data=ResumableSampler(50))
    train_and_save(tmp_path, straight, [2, 3])
    straight.step(4)
    resumed = Run(optimizer=optimizer, scheduler=scheduler, data=ResumableSampler(50), seed=99)
    assert resumed_step(tmp_path, resumed) == 3
    resumed.step(4)
    assert resumed.all() == straight.all()
    assert resumed.learning_rates == straight.learning_rates[3:]


def test_time_of_its_save_is_known_when_as_many_ranks_resume(tmp_path: Path) -> None:
    """To all ranks the same; of another number of ranks it says nothing."""
    run = Run()
    train_and_save(tmp_path, run, [2])
    newest = latest_committed(tmp_path)
    assert newest is not None
    point = resume(tmp_path, Run().state, world())
    assert point is not None
    assert point.took_s is not None
    assert point.took_s == newest.marker.took_s
    more_ranks = replace(newest.marker, world_size=2)
    (on_disk(newest.path) / MARKER).write_bytes(more_ranks.encode())
    point = resume(tmp_path, Run().state, world())
    assert point is not None
    assert point.took_s is None


def test_training_goes_on_bitwise_when_it_is_resumed_twice(tmp_path: Path) -> None:
    """A resumed run saves as well as any."""
    straight = Run()
    torch.manual_seed(1)
    straight.step(6)
    torch.manual_seed(1)
    first = Run(seed=0)
    torch.manual_seed(1)
    train_and_save(tmp_path, first, [2])
    second = Run(seed=7)
    assert resumed_step(tmp_path, second) == 2
    checkpointer = Checkpointer(tmp_path, world(), start_attempt(tmp_path), save_every_steps=1)
    second.step(2)
    checkpointer.save(second.state.capture(4))
    assert checkpointer.wait(None)
    checkpointer.close()
    third = Run(seed=8)
    assert resumed_step(tmp_path, third) == 4
    third.step(2)
    assert third.all() == straight.all()


def test_run_begins_anew_when_nothing_was_committed(tmp_path: Path) -> None:
    """With an untouched state: not even a look at the optimizer."""
    run, twin = Run(), Run()
    assert resumed_step(tmp_path / "none", run) is None
    (tmp_path / "step_000000010.a1-aaaa").mkdir()
    assert resumed_step(tmp_path, run) is None
    assert not run.state.has_stepped
    assert run.all() == twin.all()


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("__0_0.distcp", r"__0_0\.distcp is damaged, its digest differs"),
        (".metadata", r"\.metadata is damaged, its digest differs"),
        ("state/rank_00000.json", r"state/rank_00000\.json is damaged, its digest differs"),
        ("manifest/rank_00000.json", r"manifest/rank_00000\.json is damaged, its digest differs"),
        (MARKER, "commit marker is damaged, its digest differs|unusable commit marker: .*not JSON"),
    ],
)
def test_checkpoint_before_is_taken_when_the_newest_has_flipped_a_bit(
    tmp_path: Path, name: str, why: str, at: float, caplog: pytest.LogCaptureFixture
) -> None:
    """In its first, middle or last byte; without a trace of the damaged one in the state."""
    straight = Run()
    train_and_save(tmp_path, straight, [2, 3])
    flip_bit(directory(tmp_path, 3) / name, at)
    resumed, expected = Run(seed=9), Run(seed=9)
    assert resumed_step(tmp_path, resumed) == 2
    shutil.rmtree(directory(tmp_path, 3))
    assert resumed_step(tmp_path, expected) == 2
    assert resumed.all() == expected.all()
    (line,) = [r.message for r in caplog.records if "passed over" in r.message]
    assert re.search(why, line)


def test_run_does_not_start_when_all_checkpoints_are_damaged(tmp_path: Path) -> None:
    """Beginning anew over them would hide the loss of days."""
    train_and_save(tmp_path, Run(), [1, 2])
    flip_bit(directory(tmp_path, 2) / "__0_0.distcp")
    (directory(tmp_path, 1) / MARKER).write_text("")
    with pytest.raises(CheckpointError, match=r"no checkpoint under .* is whole") as raised:
        resume(tmp_path, Run().state, world())
    for step in (1, 2):
        assert directory(tmp_path, step).name in str(raised.value)


def test_start_fails_when_all_that_is_whole_is_in_quarantine(tmp_path: Path) -> None:
    """Beginning anew is for people to decide."""
    train_and_save(tmp_path, Run(), [1])
    put_mark(tmp_path, Mark.QUARANTINED, saves(tmp_path)[0], {"reason": "loss spike"})
    with pytest.raises(CheckpointError, match="take one out of quarantine"):
        resume(tmp_path, Run().state, world())


@pytest.mark.parametrize("kind", [Mark.QUARANTINED, "."])
def test_start_fails_when_it_cannot_be_told_what_is_there(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unknown is not empty."""
    train_and_save(tmp_path, Run(), [1])
    unreadable, listdir = str((tmp_path / kind).resolve()), os.listdir

    def failing(path: str) -> list[str]:
        if str(path) == unreadable:
            raise OSError(errno.EIO, "Input/output error")
        return listdir(path)

    monkeypatch.setattr(os, "listdir", failing)
    with pytest.raises(CheckpointError, match="cannot be read"):
        resume(tmp_path, Run().state, world())


@pytest.mark.parametrize(
    ("name", "step"), [("__0_0.distcp", 2), (".metadata", 1), ("state/rank_00000.json", 1)]
)
def test_shards_are_taken_on_trust_when_only_sizes_are_verified(
    tmp_path: Path, name: str, step: int
) -> None:
    """But nothing else: what is unpickled or parsed was digested, whatever is asked for."""
    train_and_save(tmp_path, Run(), [1, 2])
    flip_bit(directory(tmp_path, 2) / name)
    point = resume(tmp_path, Run().state, world(), verify=Verify.SIZES)
    assert point is not None
    assert point.step == step


def test_checkpoint_is_given_up_when_attempts_keep_dying_of_it(tmp_path: Path) -> None:
    """Noted before it is loaded: it may be the loading that kills."""
    train_and_save(tmp_path, Run(), [1, 2])
    steps = []
    for _ in range(4):
        point = resume(tmp_path, Run().state, world(), attempt=start_attempt(tmp_path))
        assert point is not None
        steps.append(point.step)
    assert steps == [2, 2, 2, 1]


def test_checkpoint_is_not_given_up_when_it_is_the_program_that_is_wrong(tmp_path: Path) -> None:
    """However often it is started so."""
    train_and_save(tmp_path, Run(), [1, 2])
    for _ in range(4):
        with pytest.raises(StateError):
            resume(tmp_path, Run(scheduler="none").state, world(), attempt=start_attempt(tmp_path))
    point = resume(tmp_path, Run().state, world(), attempt=start_attempt(tmp_path))
    assert point is not None
    assert point.step == 2


def test_resumed_step_is_announced_when_a_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With where it comes from, and whether the random numbers do."""
    train_and_save(tmp_path, Run(), [2])
    resumed_step(tmp_path, Run())
    name = directory(tmp_path, 2).name
    assert f"RESUMED step=2 from={name} ranks=1 rng=restored" in caplog.messages


def test_random_numbers_are_seeded_anew_when_the_number_of_ranks_differs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """From (seed, step, rank): no two ranks draw the same, and every start draws them again."""
    train_and_save(tmp_path, Run(), [2])
    point = resume(tmp_path, Run().state, world(size=2))
    assert point is not None
    draws = []
    for rank in (0, 1, 1):
        point.restore_rng(5, rank)
        draws.append(torch.rand(1).item())
    assert draws[0] != draws[1] == draws[2]
    assert "rng=re-seeded, was 1" in caplog.text


@pytest.mark.parametrize(
    ("there", "here", "why"),
    [
        ({"scheduler": "lambda"}, {"scheduler": "none"}, r"only in the checkpoint \['scheduler'\]"),
        ({}, {"data": ResumableSampler(5)}, r"only here \['data'\]"),
        ({"data": ResumableSampler(6)}, {"data": ResumableSampler(5)}, "size was 6, is 5"),
    ],
)
def test_checkpoint_is_refused_when_the_program_has_changed(
    tmp_path: Path, there: dict[str, Any], here: dict[str, Any], why: str
) -> None:
    """As an error of the program: the checkpoint is whole, and is not passed over for an older."""
    train_and_save(tmp_path, Run(**there), [1, 2])
    with pytest.raises(StateError, match=why):
        resume(tmp_path, Run(**here).state, world())


def test_checkpoint_is_refused_when_the_state_has_another_component_with_tensors(
    tmp_path: Path,
) -> None:
    """By its name: to DCP it would be a missing key, and every checkpoint damaged."""
    train_and_save(tmp_path, Run(), [1])
    run = Run()
    run.state.extras = {**run.state.extras, "teacher": nn.Linear(2, 2)}
    with pytest.raises(StateError, match=r"only here \['extras\.teacher'\]"):
        resume(tmp_path, run.state, world())


def test_checkpoint_is_refused_when_the_model_has_another_layer(tmp_path: Path) -> None:
    """By its name."""
    train_and_save(tmp_path, Run(), [1])
    run = Run()
    run.model.added = nn.Linear(2, 2)
    with pytest.raises(StateError, match=r"added\.weight"):
        resume(tmp_path, run.state, world())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_checkpoint_is_refused_when_the_model_has_another_precision(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    """DCP would convert it in silence, and another training go on."""
    train_and_save(tmp_path, Run(), [1])
    run = Run()
    run.model.to(dtype)
    with pytest.raises(StateError, match=rf"is torch.float32 in the checkpoint and {dtype} here"):
        resume(tmp_path, run.state, world())
