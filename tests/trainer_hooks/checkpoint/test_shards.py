"""Shards are read where they lie: whole or in parts, in a bucket or in a copy of one."""

import random
import shutil
from pathlib import Path

import pytest

from tests.support.saving import directory_as_bucket
from trainer_hooks.checkpoint import parts, shards
from trainer_hooks.checkpoint.bucket import Bucket
from trainer_hooks.checkpoint.kept import Kept
from trainer_hooks.checkpoint.manifest import FileEntry
from trainer_hooks.checkpoint.parts import PartedStream
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.shards import Item, Shards
from trainer_hooks.errors import CheckpointError

PARTS = [f"__0_0.distcp.{number:05d}" for number in range(16)]
DATA = random.Random(5).randbytes(1000)  # noqa: S311 - a test's dice


@pytest.fixture(params=["parts", "object", "copy", "file"])
def directory(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Place:
    """Return where a shard of 1000 bytes lies, and another beside it."""
    monkeypatch.setattr(parts, "PART_BYTES", 64)
    monkeypatch.setattr(shards, "_RANGE_BYTES", 24)
    monkeypatch.setattr(shards, "AHEAD_BYTES", 100)
    bucket = directory_as_bucket(tmp_path / "bucket") / "save"
    if request.param == "file":
        (tmp_path / "__0_0.distcp").write_bytes(DATA)
        (tmp_path / "__1_0.distcp").write_bytes(b"")
        return tmp_path
    if request.param == "object":
        (tmp_path / "bucket" / "save").mkdir(parents=True)
        (tmp_path / "bucket" / "save" / "__0_0.distcp").write_bytes(DATA)
        (tmp_path / "bucket" / "save" / "__1_0.distcp").write_bytes(b"")
        return bucket
    assert not isinstance(bucket, Path)
    for name, data in (("__0_0.distcp", DATA), ("__1_0.distcp", b"")):
        with PartedStream(bucket, name) as stream:
            stream.write(data)
    if request.param == "copy":
        return Path(shutil.copytree(tmp_path / "bucket" / "save", tmp_path / "copy"))
    return bucket


def wanted(item: Item) -> bytes:
    """Return what an item holds."""
    return b"" if item.name.startswith("__1") else DATA[item.start : item.start + item.length]


def test_items_come_in_order_when_they_are_read_ahead(directory: Place) -> None:
    """Each of them whole, wherever its parts begin and end."""
    draw = random.Random(7)  # noqa: S311 - likewise
    items = [Item("__0_0.distcp", 0, 1000), Item("__1_0.distcp", 0, 0)]
    for _ in range(200):
        start = draw.randrange(1000)
        items.append(Item("__0_0.distcp", start, draw.randrange(1001 - start)))
    found = [stretch.read() for stretch in Shards(directory).read(items)]
    assert found == [wanted(item) for item in items]


@pytest.mark.parametrize("directory", ["parts"], indirect=True)
def test_items_come_out_of_what_was_kept_when_parts_of_the_shard_were(
    directory: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are fetched, and what was kept is not, whatever it is by now."""
    kept = Kept(room_bytes=1000)
    for number in (0, 1, 3, 15):
        data = DATA[64 * number : 64 * (number + 1)]
        kept.keeper_of(FileEntry(PARTS[number], len(data), ""))(memoryview(data))
    fetched = set()
    get_range = Bucket.get_range

    def note(bucket: Bucket, key: str, start: int, length: int) -> memoryview:
        fetched.add(key.rpartition("/")[2])
        return get_range(bucket, key, start, length)

    monkeypatch.setattr(Bucket, "get_range", note)
    items = [Item("__0_0.distcp", 0, 1000), Item("__0_0.distcp", 50, 300)]
    found = [stretch.read() for stretch in Shards(directory, kept).read(items)]
    assert found == [wanted(item) for item in items]
    assert fetched == {name for n, name in enumerate(PARTS) if n not in (0, 1, 3, 15)}


@pytest.mark.parametrize(
    "item", [Item("__0_0.distcp", 990, 11), Item("__0_0.distcp", -1, 3), Item("__2_0.distcp", 0, 1)]
)
def test_item_is_refused_when_the_shard_has_no_such_bytes(directory: Place, item: Item) -> None:
    """An index that points elsewhere asks for no memory."""
    with pytest.raises(CheckpointError, match="bytes at"):
        list(Shards(directory).read([item]))


def test_shards_are_plain_files_when_no_bucket_has_held_them(
    directory: Place, request: pytest.FixtureRequest
) -> None:
    """Then DCP reads them itself."""
    assert Shards(directory).are_plain_files == ("[file]" in request.node.name)
