"""Manifests: what a rank says it has written, read back with suspicion."""

import json
from pathlib import Path

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.checkpoint.layout import manifest_file
from trainer_hooks.checkpoint.manifest import (
    FileEntry,
    digest_of,
    digest_of_file,
    read_manifests,
    sealed,
    write_manifest,
)
from trainer_hooks.errors import CheckpointError

ENTRY = FileEntry("__0_0.distcp", 3, digest_of(b"abc"))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return the directory of a save."""
    (tmp_path / "manifest").mkdir()
    return tmp_path


@pytest.mark.parametrize("size", [0, 1, 8 * 1024 * 1024 - 1, 8 * 1024 * 1024 + 1])
def test_digest_is_xxh3_when_it_is_taken_of_bytes_or_of_a_file(tmp_path: Path, size: int) -> None:
    """The same for both, over the edges of the reading buffer."""
    data = bytes(range(256)) * (size // 256 + 1)
    (tmp_path / "file").write_bytes(data[:size])
    assert digest_of_file(tmp_path / "file") == digest_of(data[:size])
    assert digest_of(data[:size]) == xxhash.xxh3_128_hexdigest(data[:size])


def test_digest_is_the_pinned_one_when_versions_change() -> None:
    """Checkpoints outlive the library that digested them."""
    assert digest_of(b"") == "99aa06d3014798d86001c324468d497f"
    assert digest_of(b"abc") == "06b05ab6733a618578af5f94892f3950"


@given(
    name=st.from_regex(r"\A(state/|manifest/)?[a-z_.]{0,20}[a-z]\Z"),
    size=st.integers(0, 2**63),
    digest=st.text(),
)
def test_entry_comes_back_when_it_is_written_as_json(name: str, size: int, digest: str) -> None:
    """Through the text of a manifest."""
    entry = FileEntry(name, size, digest)
    assert FileEntry.from_json(json.loads(json.dumps(entry.to_json()))) == entry


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        "text",
        {"name": "a", "size": 1},
        {"name": "a", "size": 1, "digest": None},
        {"name": "a", "size": "1", "digest": ""},
        {"name": "a", "size": 1.0, "digest": ""},
        {"name": "a", "size": -1, "digest": ""},
        {"name": 1, "size": 1, "digest": ""},
        {"name": "", "size": 1, "digest": ""},
        {"name": "../a", "size": 1, "digest": ""},
        {"name": "/etc/passwd", "size": 1, "digest": ""},
    ],
    ids=repr,
)
def test_entry_is_refused_when_it_is_none(data: object) -> None:
    """Or when its name leads out of the directory."""
    with pytest.raises(ValueError, match="no file entry"):
        FileEntry.from_json(data)  # type: ignore[arg-type]  # whatever JSON holds


def test_manifests_are_one_list_when_all_ranks_have_written_theirs(directory: Path) -> None:
    """By name, whoever wrote what; a rank may have written nothing but its manifest."""
    write_manifest(directory, 0, [FileEntry("b", 1, "x"), FileEntry("a", 2, "y")])
    write_manifest(directory, 1, [])
    write_manifest(directory, 2, [FileEntry("c", 0, "z")])
    files = {entry.name: entry for entry in read_manifests(directory, 3)}
    manifests = [manifest_file(rank) for rank in range(3)]
    assert [*files] == ["a", "b", "c", *manifests]
    for name in manifests:
        data = (directory / name).read_bytes()
        assert files[name] == FileEntry(name, len(data), digest_of(data))


def test_manifests_are_refused_when_one_is_missing(directory: Path) -> None:
    """By its name."""
    write_manifest(directory, 0, [ENTRY])
    with pytest.raises(CheckpointError, match=r"rank_00001\.json cannot be used"):
        read_manifests(directory, 2)


def test_manifests_are_refused_when_two_ranks_claim_one_file(directory: Path) -> None:
    """One of them has overwritten the other's."""
    write_manifest(directory, 0, [ENTRY])
    write_manifest(directory, 1, [ENTRY])
    with pytest.raises(CheckpointError, match=r"two ranks have written __0_0\.distcp"):
        read_manifests(directory, 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"schema": 1, "rank": 1, "files": []}',
        '{"schema": 2, "rank": 0, "files": []}',
        '{"schema": 1, "rank": 0, "files": {}}',
        '{"schema": 1, "rank": 0, "files": [1]}',
        '{"schema": 1, "rank": 0, "files": [{"name": "../x", "size": 0, "digest": ""}]}',
    ],
)
def test_manifest_is_refused_when_it_is_not_the_ranks_own(directory: Path, text: str) -> None:
    """Nothing is committed on such grounds."""
    body = json.loads(text) if text.endswith("}") else None
    if body is not None:
        text = sealed(body).decode()
    (directory / manifest_file(0)).write_text(text)
    with pytest.raises(CheckpointError, match=r"rank_00000\.json (cannot be used|is not the)"):
        read_manifests(directory, 1)


@pytest.mark.parametrize("byte", range(0, 150, 7))
def test_manifest_is_refused_when_a_bit_has_flipped(directory: Path, byte: int) -> None:
    """Or the marker would carry a wrong digest, and the checkpoint be found damaged later."""
    write_manifest(directory, 0, [ENTRY])
    data = bytearray((directory / manifest_file(0)).read_bytes())
    data[byte] ^= 1
    (directory / manifest_file(0)).write_bytes(data)
    with pytest.raises(CheckpointError, match=r"rank_00000\.json"):
        read_manifests(directory, 1)


def test_manifest_is_refused_when_it_holds_no_digest(directory: Path) -> None:
    """There is no check that one may leave out (lm-resiliency#78)."""
    text = '{"schema": 1, "rank": 0, "files": []}'
    (directory / manifest_file(0)).write_text(text)
    with pytest.raises(CheckpointError, match="is damaged, its digest differs"):
        read_manifests(directory, 1)


def test_manifest_is_refused_when_it_is_a_link(directory: Path) -> None:
    """It would say what somebody else has written."""
    write_manifest(directory, 1, [ENTRY])
    (directory / manifest_file(0)).symlink_to(directory / manifest_file(1))
    with pytest.raises(CheckpointError, match="cannot be opened"):
        read_manifests(directory, 1)
