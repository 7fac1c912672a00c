"""Host memory for the copies of a save: reckoned as they are made, and for all that share it."""

import logging
from typing import Any

import pytest
import torch
from torch.distributed import HashStore

from tests.support.training import Run
from trainer_hooks.checkpoint import preflight
from trainer_hooks.checkpoint.preflight import Need, Preflight, say, tightest_of
from trainer_hooks.checkpoint.room import Room
from trainer_hooks.checkpoint.staging import open_stager, staged_bytes
from trainer_hooks.world import World

GIB = 2**30


def room(key: str, left: int, total: int = 100) -> Room:
    """Return a bound, in GiB."""
    return Room(name=key, key=key, total_bytes=total * GIB, left_bytes=left * GIB)


def need(boot: str, size: int, *rooms: Room) -> Need:
    """Return what a rank needs, in GiB."""
    return Need(boot_id=boot, staged_bytes=size * GIB, rooms=rooms)


def test_estimate_is_what_the_stager_copies_when_storages_are_shared() -> None:
    """Each storage once and whole: tied weights, a narrow view, an expanded one, none at all."""
    large = torch.rand(1000)
    tensors = {
        "whole": large,
        "tied": large,
        "view": torch.rand(50, 10)[:, :2],
        "expanded": torch.rand(1).expand(9),
        "empty": torch.zeros(0),
        "half": torch.rand(7).bfloat16(),
    }
    stager = open_stager()
    copies: Any = stager.stage(dict(tensors))
    storages = {copy.untyped_storage().data_ptr(): copy for copy in copies.values()}
    copied = sum(copy.untyped_storage().nbytes() for copy in storages.values())
    assert staged_bytes(tensors.values()) == copied == 4000 + 2000 + 4 + 14
    stager.close()


def test_ranks_of_one_machine_share_its_memory_when_no_cgroup_bounds_them() -> None:
    """And those of another have their own, of the same name."""
    needs = [need(boot, 3, room("machine", left=7)) for boot in "AABA"]
    shared = tightest_of(needs, 1)
    assert shared is not None
    assert (list(shared.ranks), shared.staged_bytes) == ([0, 1, 3], 9 * GIB)
    assert not shared.is_enough
    alone = tightest_of(needs, 2)
    assert alone is not None
    assert (list(alone.ranks), alone.is_enough) == ([2], True)


def test_tightest_bound_counts_when_each_rank_has_a_cgroup_in_one_of_the_pod() -> None:
    """Each has room in its own, and all together have none in the pod's."""
    pod, machine = room("pod", left=5), room("machine", left=90)
    needs = [need("A", 3, machine, pod, room(f"rank {rank}", left=4)) for rank in range(2)]
    shared = tightest_of(needs, 0)
    assert shared is not None
    assert (shared.room, list(shared.ranks)) == (pod, [0, 1])
    assert not shared.is_enough
    needs[1] = need("A", 3, machine, room("rank 1", left=1))
    shared = tightest_of(needs, 1)
    assert shared is not None
    assert shared.room.name == "rank 1"


@pytest.mark.parametrize(("left", "is_enough"), [(100, True), (89, True), (88, False), (-5, False)])
def test_some_is_left_for_the_training_when_it_is_said_to_be_enough(
    left: int, caplog: pytest.LogCaptureFixture, *, is_enough: bool
) -> None:
    """With figures, and with what to do where it is not."""
    caplog.set_level(logging.INFO, "trainer_hooks.checkpoint.preflight")
    shared = tightest_of([need("A", 80, room("the cgroup /x", left))], 0)
    assert shared is not None
    assert shared.is_enough is is_enough
    say(shared)
    has = f"{left}.0 GiB" if left > 0 else "0.0 B"
    figures = f"take 80.0 GiB of host memory, and the cgroup /x has {has} left of 100.0 GiB"
    assert figures in caplog.text
    assert ("HOST MEMORY MAY NOT DO" in caplog.text) is not is_enough
    assert ("resources.limits.memory" in caplog.text) is not is_enough


def test_it_is_looked_at_once_and_nothing_is_said_when_it_cannot_be_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another system has no /proc; a run fails for nothing of this."""
    caplog.set_level(logging.INFO)
    run = Run()
    run.step()
    store: Any = HashStore()
    alone = World(rank=0, size=1, store=store, group=None)
    looks = list[int]()

    def unknown() -> list[Room]:
        looks.append(1)
        return []

    monkeypatch.setattr(preflight, "rooms", unknown)
    looking = Preflight(alone, copies=1)
    for step in (1, 2):
        snapshot = run.state.capture(step)
        assert looking.checked(snapshot) is snapshot
    assert (looks, caplog.messages) == ([1], [])
    monkeypatch.undo()
    snapshot = Preflight(alone, copies=2).checked(run.state.capture(3))
    assert f"take {2 * staged_bytes(snapshot.tensors.values()) / 1024:.1f} KiB" in caplog.text
