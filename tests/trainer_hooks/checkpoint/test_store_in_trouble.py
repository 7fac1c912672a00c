"""A real S3 server that goes away, refuses, cuts its answers short, and comes back."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import HashStore

from tests.support.faulty_store import (
    Asked,
    Fault,
    FaultyStore,
    cutting,
    faulty_way,
    losing_the_answer,
    saying,
    silent,
)
from tests.support.s3_server import bucket_at, use_server
from tests.support.training import Run, plain
from trainer_hooks import cli
from trainer_hooks.checkpoint import bucket, store_access
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import damaged_files, latest_committed
from trainer_hooks.checkpoint.layout import MARKER, saves
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.checkpoint.place import ObjectPlace
from trainer_hooks.checkpoint.resume import resume
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.errors import CheckpointError, DirectoryError
from trainer_hooks.world import World

pytestmark = [
    pytest.mark.ranks,
    pytest.mark.filterwarnings("ignore:torch.distributed is disabled"),
]

TROUBLE: dict[str, Fault] = {
    "500": saying(500),
    "503": saying(503),
    "403": saying(403),
    "gone": silent,
}


KINDS = ["403", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("500", "503", "gone"))]


@pytest.fixture
def store(weed_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyStore]:
    """Return the way to it."""
    with faulty_way(weed_endpoint) as way:
        use_server(monkeypatch, way.endpoint)
        yield way


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up a store that is in trouble for a second; nothing that works is limited by it."""
    for module in (bucket, store_access):
        monkeypatch.setattr(module, "PATIENCE", timedelta(seconds=1))


@pytest.fixture
def root(tmp_path: Path, store: FaultyStore) -> ObjectPlace:  # noqa: ARG001 - its endpoint is taken from the environment
    """Return an empty part of the bucket."""
    return bucket_at(tmp_path.name)


@pytest.fixture
def run() -> Run:
    """Train one step."""
    run = Run()
    run.step()
    return run


def world() -> World:
    """Return a world of one."""
    store: Any = HashStore()
    return World(rank=0, size=1, store=store, group=None)


def checkpointer(root: ObjectPlace) -> Checkpointer:
    """Begin an attempt."""
    return Checkpointer(root, world(), start_attempt(root), save_every_steps=5)


def save(saver: Checkpointer, run: Run, step: int) -> str | None:
    """Save; return why it was not committed."""
    saver.save(run.state.capture(step))
    assert saver.wait(None)
    return saver.failure


def is_write(asked: Asked, at: str) -> bool:
    """Tell whether it changes anything there."""
    return asked.method in {"PUT", "DELETE", "POST"} and at in asked.target


def is_get(asked: Asked) -> bool:
    """Tell whether it reads an object."""
    return asked.method == "GET" and "list-type" not in asked.target


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", KINDS)
def test_newest_checkpoint_stays_when_the_store_goes_away_in_a_save(
    root: ObjectPlace, store: FaultyStore, run: Run, kind: str
) -> None:
    """The save is given up and says why; the next is committed once the store is back."""
    saver = checkpointer(root)
    assert save(saver, run, 10) is None
    for at in ("distcp", "state/", "manifest/", MARKER):
        store.inject(TROUBLE[kind], partial(is_write, at=at))
        failure = save(saver, run, 20 + len(at))
        assert failure is not None
        assert store.met
        store.inject(TROUBLE[kind], lambda _: False)
        newest = latest_committed(root)
        assert newest is not None
        assert (newest.step, damaged_files(newest)) == (10, [])
    assert save(saver, run, 40) is None
    saver.close()
    start_attempt(root)
    assert cli.run(["checkpoints", "gc", str(root)]) == 0
    assert [name.step for name in saves(root)] == [40, 10]
    assert names_with(root, Mark.UNFINISHED) == set()
    other = Run(seed=5)
    assert resume(root, other.state, world()) is not None
    assert plain(other.all()[0]) == plain(run.all()[0])


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(saying(503), id="503"),
        pytest.param(losing_the_answer, id="lost"),
        pytest.param(cutting, id="cut"),
        pytest.param(saying(500), id="500", marks=pytest.mark.slow),
        pytest.param(silent, id="silent", marks=pytest.mark.slow),
    ],
)
def test_save_is_committed_when_each_request_fails_once(
    root: ObjectPlace, store: FaultyStore, run: Run, fault: Fault
) -> None:
    """Be it done already or not: it is asked again."""
    failed = set[str]()

    def first_time(asked: Asked) -> bool:
        what = f"{asked.method} {asked.target}"
        if what in failed:
            return False
        failed.add(what)
        return True

    store.inject(fault, first_time)
    saver = checkpointer(root)
    assert save(saver, run, 10) is None
    saver.close()
    failed.clear()
    newest = latest_committed(root)
    assert newest is not None
    assert (newest.step, damaged_files(newest)) == (10, [])
    other = Run(seed=5)
    assert resume(root, other.state, world()) is not None
    assert plain(other.all()[0]) == plain(run.all()[0])


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", KINDS)
def test_start_and_tools_say_so_when_the_store_is_in_trouble(
    root: ObjectPlace, store: FaultyStore, run: Run, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """None of them takes it for an empty one, nor for a damaged one."""
    saver = checkpointer(root)
    assert save(saver, run, 10) is None
    saver.close()
    store.inject(TROUBLE[kind])
    with pytest.raises(DirectoryError if kind == "403" else CheckpointError):
        start_attempt(root)
    with pytest.raises(CheckpointError):
        latest_committed(root)
    with pytest.raises(CheckpointError):
        resume(root, Run().state, world())
    for command in (["ls"], ["verify"], ["gc"], ["pin", "10"], ["rollback", "--before-step", "5"]):
        code = cli.run(["checkpoints", command[0], str(root), *command[1:]])
        said = capsys.readouterr()
        assert code in {cli.FAILED, 78}
        assert said.err.startswith("reprieve-trainer: ")
        assert said.err.count("\n") == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(cutting, id="cut"),
        pytest.param(saying(503), id="503", marks=pytest.mark.slow),
        pytest.param(silent, id="silent", marks=pytest.mark.slow),
    ],
)
def test_nothing_torn_is_loaded_when_objects_cannot_be_read(
    root: ObjectPlace, store: FaultyStore, run: Run, fault: Fault
) -> None:
    """And nothing is called damaged; once the store is back it is good."""
    saver = checkpointer(root)
    assert save(saver, run, 10) is None
    saver.close()
    (name,) = saves(root)
    store.inject(fault, lambda asked: is_get(asked) and "distcp" in asked.target)
    other = Run(seed=5)
    before = plain(other.all()[0])
    with pytest.raises(CheckpointError):
        resume(root, other.state, world())
    assert plain(other.all()[0]) == before
    assert cli.run(["checkpoints", "verify", "--deep", str(root)]) == cli.FAILED
    assert names_with(root, Mark.VERIFIED) == set()
    store.inject(fault, lambda _: False)
    assert resume(root, other.state, world()) is not None
    assert cli.run(["checkpoints", "verify", "--deep", str(root), str(name)]) == 0


@pytest.mark.usefixtures("impatient")
def test_ranges_are_asked_for_again_when_the_store_was_in_trouble_for_a_moment(
    root: ObjectPlace, store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not taken for one that gives objects only as a whole."""
    root.bucket.put("object", bytes(1000))
    store.inject(saying(503), lambda asked: asked.headers.get("range") == "bytes=10-19", 100)
    assert root.bucket.get_range("object", 10, 10) == bytes(10)
    assert store.met
    store.inject(saying(503), lambda _: False)
    assert root.bucket.get_range("object", 5, 10) == bytes(10)
    assert "only as a whole" not in caplog.text
