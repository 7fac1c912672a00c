"""A shard that goes up in parts: all of it arrives, or the writer says why not."""

import errno
import threading
from pathlib import Path

import pytest

from tests.support.saving import directory_as_bucket
from trainer_hooks.checkpoint import parts
from trainer_hooks.checkpoint.bucket import Bucket
from trainer_hooks.checkpoint.manifest import digest_of
from trainer_hooks.checkpoint.parts import PartedStream, part_name, whole_name
from trainer_hooks.checkpoint.place import ObjectPlace

PART = 8


@pytest.fixture
def save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectPlace:
    """Return a save's place, where parts are small."""
    monkeypatch.setattr(parts, "PART_BYTES", PART)
    return directory_as_bucket(tmp_path) / "save"


@pytest.mark.parametrize("pieces", [[], [3], [8], [9], [20, 1, 0, 30], [8] * 20])
def test_stream_puts_every_byte_once_when_it_is_closed(
    save: ObjectPlace, pieces: list[int]
) -> None:
    """In parts of one size but the last, each with its digest; no bytes at all are a part too."""
    data = [bytes([number + 1]) * length for number, length in enumerate(pieces)]
    with PartedStream(save, "__0_0.distcp") as stream:
        for piece in data:
            assert stream.write(piece) == len(piece)
        assert stream.tell() == sum(pieces)
    expected = b"".join(data)
    stored = [save.bucket.get(f"save/{entry.name}") for entry in stream.entries]
    assert b"".join(stored) == expected
    assert len(stored) == max(1, -(-len(expected) // PART))
    assert [entry.name for entry in stream.entries] == [
        part_name("__0_0.distcp", number) for number in range(len(stored))
    ]
    assert [(e.size, e.digest) for e in stream.entries] == [(len(s), digest_of(s)) for s in stored]


def test_stream_raises_when_a_part_cannot_be_put(
    save: ObjectPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the latest as it is closed; once it is abandoned, nobody writes any more."""
    put = Bucket.put
    failing = threading.Event()

    def put_or_fail(bucket: Bucket, key: str, data: bytes) -> None:
        if key.endswith(".00002"):
            failing.set()
            raise OSError(errno.EIO, "Service Unavailable")
        put(bucket, key, data)

    monkeypatch.setattr(Bucket, "put", put_or_fail)
    stream = PartedStream(save, "__0_0.distcp")
    with pytest.raises(OSError, match="Service Unavailable"):  # noqa: PT012 - either may say it
        for _ in range(10):
            stream.write(b"x" * PART)
        stream.close()
    stream.abandon()
    assert failing.is_set()
    assert not [thread for thread in threading.enumerate() if "reprieve-put" in thread.name]


@pytest.mark.parametrize("name", ["__0_0.distcp", ".metadata", "state/rank_00000.json", "a.00001"])
def test_name_stays_when_it_is_of_no_part(name: str) -> None:
    """Only shards have parts."""
    assert whole_name(name) == name
    if name.endswith(".distcp"):
        assert whole_name(part_name(name, 7)) == name
