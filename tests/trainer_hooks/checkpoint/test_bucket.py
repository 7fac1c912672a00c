"""The commit protocol in buckets: on a directory seen as one, on SeaweedFS, and on rclone."""

from pathlib import Path

import pytest

from tests.support.s3_server import bucket_at, use_server
from tests.support.saving import commit_save, directory_as_bucket, on_disk, write_save
from tests.support.trained import saved
from tests.support.training import Run
from trainer_hooks import cli
from trainer_hooks.checkpoint.bucket import PROBES
from trainer_hooks.checkpoint.catalogue import SaveState, catalogue
from trainer_hooks.checkpoint.commit import commit, reserve, start_attempt
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import damaged_files, latest_committed, open_checkpoint
from trainer_hooks.checkpoint.layout import MARKER, SaveName, saves
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.checkpoint.place import ObjectPlace, place_of
from trainer_hooks.checkpoint.quarantine import roll_back
from trainer_hooks.checkpoint.retention import retain
from trainer_hooks.errors import (
    CheckpointError,
    ConfigError,
    FencedError,
    UncommittedError,
)

STORES = ["file", pytest.param("seaweedfs", marks=pytest.mark.ranks),
          pytest.param("rclone", marks=pytest.mark.ranks)]  # fmt: skip


@pytest.fixture(params=STORES)
def root(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ObjectPlace:
    """Return an empty part of a bucket."""
    if request.param == "file":
        return directory_as_bucket(tmp_path / "bucket")
    name = "weed_endpoint" if request.param == "seaweedfs" else "rclone_endpoint"
    use_server(monkeypatch, request.getfixturevalue(name))
    return bucket_at(tmp_path.name)


def newest_step(root: ObjectPlace) -> int | None:
    """Return the step of the newest checkpoint, which must be whole to the last bit."""
    newest = latest_committed(root)
    assert newest is None or damaged_files(newest) == []
    return None if newest is None else newest.step


def test_save_is_a_checkpoint_when_it_is_committed(root: ObjectPlace) -> None:
    """As on a file system: not before, and with all that is known of it."""
    assert newest_step(root) is None
    attempt = start_attempt(root)
    commit_save(root, 10, attempt)
    name = write_save(root, 20, attempt)
    assert newest_step(root) == 10
    assert names_with(root, Mark.UNFINISHED) == {name}
    commit(root, name, world_size=2, save_every_steps=10, took_s=1.5)
    assert newest_step(root) == 20
    assert names_with(root, Mark.UNFINISHED) == set()
    assert [found.step for found in saves(root)] == [20, 10]
    entries = catalogue(root)
    assert [entry.state for entry in entries] == [SaveState.COMMITTED] * 2
    assert entries[0].bytes > 500


def test_second_commit_is_refused_when_a_marker_is_there(root: ObjectPlace) -> None:
    """By the store itself, or where it can't, by a look before."""
    attempt = start_attempt(root)
    directory = commit_save(root, 10, attempt)
    marker = root.bucket.get(f"{directory.key}/{MARKER}")
    with pytest.raises(CheckpointError, match="could not be committed"):
        commit(root, SaveName(10, attempt), world_size=2, save_every_steps=5, took_s=1.5)
    assert root.bucket.get(f"{directory.key}/{MARKER}") == marker


def test_older_attempt_is_fenced_off_when_a_newer_one_has_started(root: ObjectPlace) -> None:
    """It can neither reserve nor commit."""
    older = start_attempt(root)
    name = write_save(root, 10, older)
    newer = start_attempt(root)
    assert (newer.number, newer.before) == (older.number + 1, str(older))
    with pytest.raises(FencedError):
        commit(root, name, world_size=2, save_every_steps=10, took_s=1.5)
    with pytest.raises(FencedError):
        reserve(root, SaveName(20, older))
    assert newest_step(root) is None


def test_part_of_an_object_is_read_whether_or_not_the_store_gives_ranges(
    root: ObjectPlace,
) -> None:
    """The first, one in the midst, the last, all of it; and a missing object is missing."""
    data = bytes(range(256)) * 40
    root.bucket.put("object", data)
    for start, length in ((0, 10), (5000, 300), (len(data) - 1, 1), (0, len(data))):
        assert root.bucket.get_range("object", start, length) == data[start : start + length]
    with (root / "object").open() as file:
        assert file.read() == data
    with pytest.raises(FileNotFoundError):
        root.bucket.get_range("other", 0, 1)


@pytest.mark.parametrize("torn", ["missing", "short", "no marker", "odd marker"])
def test_save_is_passed_over_when_it_is_torn(root: ObjectPlace, torn: str) -> None:
    """For the one before it."""
    attempt = start_attempt(root)
    commit_save(root, 10, attempt)
    directory = commit_save(root, 20, attempt)
    shard, marker = f"{directory.key}/__0_0.distcp", f"{directory.key}/{MARKER}"
    if torn == "missing":
        root.bucket.delete(shard)
    elif torn == "short":
        root.bucket.put(shard, b"short")
    elif torn == "no marker":
        root.bucket.delete(marker)
    else:
        root.bucket.put(marker, b'{"schema": 1}')
    with pytest.raises(UncommittedError):
        open_checkpoint(directory)
    assert newest_step(root) == 10


def test_damage_is_found_when_bytes_differ(root: ObjectPlace) -> None:
    """By reading them from the store."""
    directory = commit_save(root, 10, start_attempt(root))
    root.bucket.put(f"{directory.key}/__0_0.distcp", b"Shard of rank 0")
    newest = latest_committed(root)
    assert newest is not None
    assert damaged_files(newest) == ["__0_0.distcp"]


def test_oldest_are_deleted_when_there_are_more_than_are_kept(root: ObjectPlace) -> None:
    """With what a crash has left; what is not ours stays."""
    attempt = start_attempt(root)
    for step in (10, 20, 30):
        commit_save(root, step, attempt)
    write_save(root, 35, attempt)
    foreign = commit_save(root, 5, attempt)
    root.bucket.put(f"{foreign.key}/notes.txt", b"mine")
    newer = start_attempt(root)
    commit_save(root, 40, newer)
    retain(root, Keep(last=2), lambda: True)
    assert [name.step for name in saves(root)] == [40, 30, 5]
    assert set(root.bucket.sizes(foreign.key)) == {"notes.txt", MARKER}
    assert newest_step(root) == 40


def test_job_goes_on_before_the_step_when_it_was_rolled_back(root: ObjectPlace) -> None:
    """And the older attempt can commit nothing more."""
    attempt = start_attempt(root)
    for step in (10, 20, 30):
        commit_save(root, step, attempt)
    in_flight = write_save(root, 40, attempt)
    assert [name.step for name in roll_back(root, 20, "NaN")] == [30, 20]
    assert newest_step(root) == 10
    with pytest.raises(CheckpointError):
        commit(root, in_flight, world_size=2, save_every_steps=10, took_s=1.5)


def test_object_is_created_once_when_two_try(root: ObjectPlace) -> None:
    """A put that is made again because its answer was lost is no second one."""
    root.bucket.create("object", b"first")
    with pytest.raises(FileExistsError):
        root.bucket.create("object", b"second")
    assert root.bucket.get("object") == b"first"


def test_url_is_refused_when_it_leads_nowhere(tmp_path: Path) -> None:
    """In one line."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be opened: Not a directory"):
        directory_as_bucket(tmp_path / "file" / "bucket")


@pytest.mark.ranks
def test_error_is_raised_when_the_bucket_is_not_there(
    weed_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for an empty one."""
    use_server(monkeypatch, weed_endpoint)
    place = place_of("s3://no-such-bucket/run")
    with pytest.raises(CheckpointError, match="cannot be read"):
        latest_committed(place)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(CheckpointError, match="cannot be read"):
        latest_committed(bucket_at("run"))


@pytest.mark.parametrize("root", STORES[1:], indirect=True)
def test_store_is_tried_once_when_something_is_created(
    root: ObjectPlace, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    """Some take a conditional put for an unconditional one, and say nothing of it."""
    is_rclone = "rclone" in request.node.name
    for _ in range(2):
        assert root.bucket.creates_once is not is_rclone
    assert len([line for line in caplog.messages if "has no conditional put" in line]) == is_rclone
    assert root.bucket.children(PROBES) == []


def test_everything_is_loaded_and_exported_when_a_checkpoint_lies_in_a_bucket(
    root: ObjectPlace, tmp_path: Path
) -> None:
    """Each piece of it read where it lies; and a flipped bit is found there."""
    checkpoint = saved(tmp_path / "run", Run())
    name, path = checkpoint.marker.name, on_disk(checkpoint.path)
    start_attempt(root)
    for file in filter(Path.is_file, path.rglob("*")):
        root.bucket.put(f"{name}/{file.relative_to(path).as_posix()}", file.read_bytes())
    url = root.bucket.url
    assert cli.run(["checkpoints", "verify", "--deep", url]) == 0
    assert cli.run(["checkpoints", "export", url, "--to", str(tmp_path / "there")]) == 0
    assert cli.run(["checkpoints", "export", str(path.parent), "--to", str(tmp_path / "here")]) == 0
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    data = bytearray(root.bucket.get(f"{name}/__0_0.distcp"))
    data[len(data) // 2] ^= 1
    root.bucket.put(f"{name}/__0_0.distcp", bytes(data))
    assert cli.run(["checkpoints", "verify", "--deep", url]) == 1


@pytest.mark.parametrize("url", ["ftp://host/x", "S3://bucket", "s4://bucket/x", "://"])
def test_url_is_refused_when_its_store_is_not_known(url: str) -> None:
    """It is no relative path either."""
    with pytest.raises(ConfigError, match="is in no store that is known"):
        place_of(url)
