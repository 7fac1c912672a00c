"""The desk: work in order, findings to every rank, and no more than that."""

import threading
from datetime import timedelta

import pytest
import torch.distributed as dist

from trainer_hooks.health.desk import PENDING, Desk
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.world import World

FOUND = Finding(guard=Guard.STRAGGLER, step=7, ranks=(1,), text="slow")


def worlds() -> list[World]:
    """Return two ranks that share a Store in memory."""
    store = dist.HashStore()
    store.set_timeout(timedelta(seconds=10))
    return [World(rank=rank, size=2, store=store, group=None) for rank in range(2)]  # type: ignore[arg-type]  # torch's stubs lack half of a Store


def test_finding_reaches_every_rank_once_when_one_publishes_it() -> None:
    """Also the one that has found it; in the order of the findings."""
    heard: list[list[Finding]] = [[], []]
    done = [threading.Event(), threading.Event()]

    def note(rank: int, finding: Finding) -> None:
        heard[rank].append(finding)
        if len(heard[rank]) == 2:
            done[rank].set()

    desks = [
        Desk(world, lambda finding, rank=world.rank: note(rank, finding))  # type: ignore[misc]  # a default binds the rank
        for world in worlds()
    ]
    other = Finding(guard=Guard.DIGEST, step=8, ranks=(0, 1), is_certain=False, text="differ")
    desks[0].put(lambda desk: desk.publish(FOUND))
    desks[0].put(lambda desk: desk.publish(other))
    for desk in desks:
        desk.start()
    assert all(event.wait(20.0) for event in done)
    for desk in desks:
        desk.put(lambda _: None)  # one more look
        desk.close()
    assert heard == [[FOUND, other]] * 2


def test_work_is_left_out_when_the_desk_is_full() -> None:
    """The training waits for nothing, and is told."""
    desk = Desk(worlds()[0], lambda _: None)
    assert [desk.put(lambda _: None) for _ in range(PENDING + 2)] == [True] * PENDING + [False] * 2


def test_desk_ends_in_order_when_its_work_fails() -> None:
    """A guard that fails is no reason to stop training."""
    desk = Desk(worlds()[0], lambda _: None)
    did: list[str] = []

    def fail(_: Desk) -> None:
        did.append("failed")
        raise RuntimeError("a bug")

    desk.put(fail)
    desk.put(lambda _: did.append("went on"))
    desk.start()
    desk.close()
    assert did == ["failed"]


def test_nothing_is_said_when_the_store_goes_as_all_leave(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever leaves last takes it along; in the midst of a run it is a warning."""
    for is_leaving in (True, False):
        caplog.clear()
        desk = Desk(worlds()[0], lambda _: None)
        begun, gone = threading.Event(), threading.Event()

        def lose(_: Desk, begun: threading.Event = begun, gone: threading.Event = gone) -> None:
            begun.set()
            gone.wait(20.0)
            raise dist.DistNetworkError("gone")

        desk.put(lose)
        desk.start()
        assert begun.wait(20.0)
        desk._is_closing = is_leaving
        gone.set()
        desk._thread.join(20.0)
        assert ("the Store is lost" in caplog.text) is not is_leaving
