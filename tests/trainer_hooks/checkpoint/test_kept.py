"""What was fetched for its digest is kept for the load, as far as there is room for it."""

import pytest

from trainer_hooks.checkpoint import kept as module
from trainer_hooks.checkpoint.kept import Kept, room_of_rank
from trainer_hooks.checkpoint.manifest import FileEntry

SHARD = "__0_0.distcp.00000"


def keep(kept: Kept, name: str, *chunks: bytes) -> None:
    """Show it a file, chunk by chunk."""
    on_chunk = kept.keeper_of(FileEntry(name, sum(map(len, chunks)), "digest"))
    for chunk in chunks:
        on_chunk(memoryview(chunk))


def test_stretch_is_cut_out_when_the_shard_was_kept() -> None:
    """Of all the chunks that it lies in, and of none other."""
    kept = Kept(room_bytes=10)
    keep(kept, SHARD, b"abcd", b"efgh", b"ij")
    found = {
        (start, length): b"".join(kept.stretch(SHARD, start, length) or [])
        for start in range(10)
        for length in range(11 - start)
    }
    assert found == {
        (start, length): b"abcdefghij"[start : start + length] for start, length in found
    }
    assert kept.stretch(SHARD, 4, 4) == [memoryview(b"efgh")]


def test_shard_is_not_kept_when_there_is_no_room_for_all_of_it() -> None:
    """A smaller one that comes later is."""
    kept = Kept(room_bytes=10)
    keep(kept, SHARD, b"12345678")
    keep(kept, "__0_0.distcp.00001", b"123")
    keep(kept, "__0_0.distcp.00002", b"12")
    assert kept.stretch(SHARD, 0, 1) == [memoryview(b"1")]
    assert kept.stretch("__0_0.distcp.00001", 0, 1) is None
    assert kept.stretch("__0_0.distcp.00002", 0, 2) == [memoryview(b"12")]


def test_nothing_is_kept_when_it_is_no_shard_or_there_is_no_room() -> None:
    """Small files are read again; without room all is, as ever."""
    kept = Kept(room_bytes=10)
    keep(kept, "state/rank_00000.json", b"{}")
    assert kept.stretch("state/rank_00000.json", 0, 2) is None
    keep(nothing := Kept(), SHARD, b"1")
    assert nothing.stretch(SHARD, 0, 1) is None


@pytest.mark.parametrize(
    ("local_world_size", "room"), [("4", 125), ("1", 500), (None, 62), ("many", 62), ("0", 500)]
)
def test_room_is_shared_when_several_ranks_are_on_the_node(
    local_world_size: str | None, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of what is left, by those that torchrun has started here; by all if it says nothing."""
    monkeypatch.setattr(module, "room_bytes", lambda: 1000)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    if local_world_size is not None:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", local_world_size)
    assert room_of_rank(world_size=8) == room
