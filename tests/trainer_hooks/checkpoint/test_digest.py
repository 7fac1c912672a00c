"""Digests taken as the bytes are written equal those of the files, and nothing goes missing."""

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import CheckpointException, FileSystemReader, FileSystemWriter
from torch.futures import Future

from tests.support.training import plain
from trainer_hooks.checkpoint.digest import DigestingWriter, _DigestingFileSystem
from trainer_hooks.checkpoint.manifest import FileEntry, digest_of_file

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

TENSORS: list[dict[str, torch.Tensor]] = [
    {},
    {"empty": torch.zeros(0)},
    {"one": torch.zeros(1)},
    {"scalar": torch.tensor(7), "half": torch.rand(5).bfloat16(), "bool": torch.tensor([True])},
    {"view": torch.rand(10, 10).T[::2], "expanded": torch.rand(1).expand(9)},
    {"large": torch.rand(1_500_000), "small": torch.rand(3)},
]


def entries_on_disk(directory: Path) -> list[FileEntry]:
    """Return what a directory holds, by reading it."""
    return sorted(
        FileEntry(path.relative_to(directory).as_posix(), path.stat().st_size, digest_of_file(path))
        for path in directory.rglob("*")
        if path.is_file()
    )


@pytest.mark.parametrize("number", range(len(TENSORS)))
def test_entries_are_those_of_the_files_when_a_save_has_ended(tmp_path: Path, number: int) -> None:
    """Shards and index, whatever their size, and a stock reader reads what was written."""
    tensors = TENSORS[number]
    writer = DigestingWriter(tmp_path / "save")
    dcp.save(dict(tensors), storage_writer=writer, no_dist=True)
    assert sorted(writer.files) == entries_on_disk(tmp_path / "save")
    assert ".metadata" in {entry.name for entry in writer.files}
    loaded = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    dcp.load(loaded, storage_reader=FileSystemReader(tmp_path / "save"), no_dist=True)
    assert plain(loaded) == plain(tensors)


def test_entry_is_right_when_a_rank_had_nothing_to_write(tmp_path: Path) -> None:
    """A shard of zero bytes, with the digest of nothing."""
    writer = DigestingWriter(tmp_path)
    with writer.fs.create_stream(tmp_path / "__1_0.distcp", "wb"):
        pass
    assert writer.files == entries_on_disk(tmp_path)
    assert writer.files[0].size == 0


def test_entry_is_of_the_bytes_handed_over_when_the_disk_changes_them(tmp_path: Path) -> None:
    """A digest of the file would certify the damage."""
    writer = DigestingWriter(tmp_path)
    with writer.fs.create_stream(tmp_path / "file", "wb") as stream:
        cast("Any", stream).write(b"good")
        assert cast("Any", stream).tell() == 4
    (tmp_path / "file").write_bytes(b"baad")
    assert [entry.digest for entry in writer.files] != [digest_of_file(tmp_path / "file")]


def test_stream_cannot_seek_when_somebody_tries(tmp_path: Path) -> None:
    """The digest would be of other bytes than the file's."""
    writer = DigestingWriter(tmp_path)
    with writer.fs.create_stream(tmp_path / "file", "wb") as stream:
        assert not stream.seekable()
        with pytest.raises(OSError, match="seek"):
            stream.seek(0)


def test_file_is_not_overwritten_when_it_exists(tmp_path: Path) -> None:
    """A save's directory is fresh: the file is somebody else's."""
    (tmp_path / "__0_0.distcp").write_bytes(b"theirs")
    with pytest.raises(CheckpointException, match="FileExistsError"):
        dcp.save({"a": torch.zeros(1)}, storage_writer=DigestingWriter(tmp_path), no_dist=True)
    assert (tmp_path / "__0_0.distcp").read_bytes() == b"theirs"


def test_files_are_synced_when_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all their bytes handed to the system before: a sync of half a file proves nothing."""
    synced = dict[str, int]()
    sync = os.fsync

    def note(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced[path.name] = path.stat().st_size
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    writer = DigestingWriter(tmp_path)
    dcp.save({"a": torch.rand(100)}, storage_writer=writer, no_dist=True)
    sizes = {entry.name: entry.size for entry in writer.files}
    assert synced == {"__0_0.distcp": sizes["__0_0.distcp"], ".metadata.tmp": sizes[".metadata"]}


def test_save_fails_when_an_item_was_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writing thread that met a full disk dies in silence, and DCP reports success."""

    def forgetful(*_: object) -> Future[list[object]]:
        future: Future[list[object]] = Future()
        future.set_result([])
        return future

    monkeypatch.setattr(FileSystemWriter, "write_data", forgetful)
    with pytest.raises(CheckpointException, match="2 items were not written"):
        dcp.save(
            {"a": torch.zeros(1), "b": torch.zeros(1)},
            storage_writer=DigestingWriter(tmp_path),
            no_dist=True,
        )


def test_save_fails_when_the_disk_is_full_in_a_side_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch's own, which dies of it and tells nobody."""
    has_met_it = threading.Event()
    create = _DigestingFileSystem.create_stream

    def full(files: Any, path: Any, mode: str) -> Any:  # noqa: ANN401 - as the original has them
        if threading.current_thread() is not threading.main_thread():
            has_met_it.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        assert has_met_it.wait(30)  # or this thread may have written all before the other begins
        return create(files, path, mode)

    monkeypatch.setattr(_DigestingFileSystem, "create_stream", full)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    writer = DigestingWriter(tmp_path)
    writer.thread_count, writer.single_file_per_rank = 2, False
    tensors = {name: torch.zeros(1) for name in "abcdef"}
    with pytest.raises(CheckpointException, match="items were not written"):
        dcp.save(dict(tensors), storage_writer=writer, no_dist=True)


def test_entries_are_whole_when_several_writers_work_at_once(tmp_path: Path) -> None:
    """Each has its own."""

    def save(number: int) -> list[FileEntry]:
        writer = DigestingWriter(tmp_path / str(number))
        dcp.save({"a": torch.full((9,), number)}, storage_writer=writer, no_dist=True)
        return sorted(writer.files)

    with ThreadPoolExecutor() as pool:
        for number, files in enumerate(pool.map(save, range(4))):
            assert files == entries_on_disk(tmp_path / str(number))
