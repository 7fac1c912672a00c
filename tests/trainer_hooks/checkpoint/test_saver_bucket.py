"""The checkpointer in a bucket, in a world of one: as on a file system, and nothing half-done."""

import errno
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import HashStore

from tests.support.s3_server import BUCKET, bucket_at, s3_client, use_server
from tests.support.saving import directory_as_bucket
from tests.support.training import Run, plain
from trainer_hooks import cli
from trainer_hooks.checkpoint import parts
from trainer_hooks.checkpoint import resume as resuming
from trainer_hooks.checkpoint.bucket import Bucket
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import damaged_files, latest_committed
from trainer_hooks.checkpoint.layout import is_shard, saves
from trainer_hooks.checkpoint.parts import PartedStream
from trainer_hooks.checkpoint.place import ObjectPlace, Place
from trainer_hooks.checkpoint.resume import resume
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.world import World

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

STORES = ["file", pytest.param("seaweedfs", marks=[pytest.mark.ranks, pytest.mark.slow])]


def world() -> World:
    """Return a world of one."""
    store: Any = HashStore()
    return World(rank=0, size=1, store=store, group=None)


@pytest.fixture(params=STORES)
def root(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ObjectPlace:
    """Return an empty part of a bucket; a shard takes several parts there."""
    monkeypatch.setattr(parts, "PART_BYTES", 1000)
    if request.param == "file":
        return directory_as_bucket(tmp_path / "bucket")
    use_server(monkeypatch, request.getfixturevalue("weed_endpoint"))
    return bucket_at(tmp_path.name)


@pytest.fixture
def run() -> Run:
    """Train one step."""
    run = Run()
    run.step()
    return run


def save(root: Place, run: Run, *steps: int) -> list[str | None]:
    """Save at some steps; return why each was not committed."""
    checkpointer = Checkpointer(root, world(), start_attempt(root), save_every_steps=5)
    failures = []
    for step in steps:
        checkpointer.save(run.state.capture(step))
        assert checkpointer.wait(None)
        failures.append(checkpointer.failure)
    checkpointer.close()
    return failures


def assert_resumed(root: Place, run: Run) -> None:
    """Resume from a place; all of the state must be as it was."""
    other = Run(seed=5)
    point = resume(root, other.state, world())
    assert point is not None
    for mine, theirs in zip(run.all()[:3], other.all()[:3], strict=True):
        assert plain(mine) == plain(theirs)


def test_state_comes_back_when_it_was_saved_in_a_bucket(root: ObjectPlace, run: Run) -> None:
    """In parts, each in the marker; the tools find it whole, and resume reads it where it lies."""
    assert save(root, run, 1) == [None]
    newest = latest_committed(root)
    assert newest is not None
    assert damaged_files(newest) == []
    names = [entry.name for entry in newest.marker.files]
    assert ".metadata" in names
    assert "__0_0.distcp.00001" in names
    assert cli.run(["checkpoints", "ls", root.bucket.url]) == 0
    assert cli.run(["checkpoints", "verify", "--deep", root.bucket.url]) == 0
    assert_resumed(root, run)


def test_state_comes_back_when_the_bucket_was_copied_to_a_file_system(
    tmp_path: Path, run: Run
) -> None:
    """As any tool copies it, object by object."""
    bucket = directory_as_bucket(tmp_path / "bucket")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_BYTES", 1000)
        assert save(bucket, run, 1) == [None]
    assert_resumed(Path(shutil.copytree(tmp_path / "bucket", tmp_path / "copy")), run)


@pytest.mark.parametrize(
    "part", ["__0_0.distcp.00000", "__0_0.distcp.00003", ".metadata", "COMMIT"]
)
def test_training_goes_on_when_the_store_takes_no_more(
    root: ObjectPlace, run: Run, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The save is given up, nothing of it stays, and the next one is a checkpoint."""
    put, create = Bucket.put, Bucket.create
    is_down = [True]

    def refuse(key: str) -> None:
        if is_down[0] and key.endswith(f"/{part}"):
            raise OSError(errno.EIO, "Service Unavailable")

    def put_or_fail(bucket: Bucket, key: str, data: bytes) -> None:
        refuse(key)
        put(bucket, key, data)

    def create_or_fail(bucket: Bucket, key: str, data: bytes) -> None:
        if b"deleted" not in data:
            refuse(key)
        create(bucket, key, data)

    monkeypatch.setattr(Bucket, "put", put_or_fail)
    monkeypatch.setattr(Bucket, "create", create_or_fail)
    (failure,) = save(root, run, 1)
    assert failure is not None
    assert "Service Unavailable" in failure
    assert latest_committed(root) is None
    if part != "COMMIT":  # whose put may have arrived all the same
        assert saves(root) == []
    is_down[0] = False
    assert save(root, run, 2) == [None]
    assert_resumed(root, run)


@pytest.mark.parametrize("damaged", ["__0_0.distcp.00001", ".metadata", "state/rank_00000.json"])
def test_checkpoint_before_is_taken_when_a_bit_of_the_newest_is_flipped(
    root: ObjectPlace, run: Run, damaged: str
) -> None:
    """Found by the digest of the part, before a tensor is used."""
    assert save(root, run, 1, 2) == [None, None]
    newest = latest_committed(root)
    assert newest is not None
    key = f"{newest.path.name}/{damaged}"
    data = bytearray(root.bucket.get(key))
    data[len(data) // 2] ^= 1
    root.bucket.put(key, bytes(data))
    point = resume(root, Run(seed=5).state, world())
    assert point is not None
    assert point.step == 1


@pytest.mark.parametrize("room", [0, 5_000, 10_000_000])
def test_shards_are_fetched_once_when_there_is_room_to_keep_them(
    root: ObjectPlace, run: Run, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was digested is what is loaded; what there is no room for is fetched twice."""
    monkeypatch.setattr(resuming, "room_of_rank", lambda _: room)
    assert save(root, run, 1) == [None]
    newest = latest_committed(root)
    assert newest is not None
    shard_bytes = sum(entry.size for entry in newest.marker.files if is_shard(entry.name))
    fetched = []
    whole, range_ = Bucket._whole, Bucket._range

    def note(key: str, data: memoryview) -> memoryview:
        fetched.append(len(data) if ".distcp" in key else 0)
        return data

    monkeypatch.setattr(Bucket, "_whole", lambda self, key: note(key, whole(self, key)))
    monkeypatch.setattr(Bucket, "_range", lambda self, key, *of: note(key, range_(self, key, *of)))
    assert_resumed(root, run)
    kept_bytes = 2 * shard_bytes - sum(fetched)
    assert kept_bytes == {0: 0, 5_000: 5_000}.get(room, shard_bytes)


@pytest.mark.ranks
def test_upload_has_no_hidden_parts_when_a_shard_is_large(
    weed_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No multipart upload is ever begun, so none can be left half-done where no list shows it."""
    use_server(monkeypatch, weed_endpoint)
    save = bucket_at(tmp_path.name) / "save"
    with PartedStream(save, "__0_0.distcp") as stream:
        stream.write(bytes(12_000_000))
    client = s3_client(weed_endpoint)
    head = client.head_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{save.key}/__0_0.distcp.00000")
    client.close()
    assert head["ContentLength"] == 12_000_000
    assert "-" not in head["ETag"]  # as that of a multipart upload has, and its number of parts


def test_place_is_opened_anew_when_it_is_sent_to_another_rank(root: ObjectPlace) -> None:
    """Connections and locks stay where they are."""
    root.bucket.put("object", b"1")
    sent = pickle.loads(pickle.dumps(root / "object"))  # noqa: S301 - our own bytes
    assert sent == root / "object"
    assert sent.bucket.get(sent.key) == b"1"
