"""Looking at a checkpoint: by its lengths, and by loading every byte of it."""

import errno
import json
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.flipping import flip_bit
from tests.support.saving import directory_as_bucket, on_disk
from tests.support.trained import mark_again, saved
from tests.support.training import Run
from trainer_hooks.checkpoint import verification
from trainer_hooks.checkpoint.bucket import Bucket
from trainer_hooks.checkpoint.catalogue import SaveState, catalogue
from trainer_hooks.checkpoint.latest import Checkpoint
from trainer_hooks.checkpoint.layout import MARKER
from trainer_hooks.checkpoint.marks import Mark, names_with, read_mark
from trainer_hooks.checkpoint.pins import READERS
from trainer_hooks.checkpoint.removal import delete_checkpoint
from trainer_hooks.checkpoint.verification import Level, verify
from trainer_hooks.errors import CheckpointError

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """Commit a checkpoint."""
    return saved(tmp_path_factory.mktemp("template"), Run())


@pytest.fixture
def checkpoint(template: Checkpoint, tmp_path: Path) -> Checkpoint:
    """Return a copy of it."""
    shutil.copytree(on_disk(template.path), tmp_path / template.path.name)
    return replace(template, path=tmp_path / template.path.name)


def look(checkpoint: Checkpoint, level: Level) -> list[str]:
    """Return what is wrong."""
    return verify(checkpoint.path.parent, checkpoint.marker.name, level)


def test_nothing_is_wrong_when_the_checkpoint_is_good(checkpoint: Checkpoint) -> None:
    """The closest look is remembered; tensors are told of after files, and no reader is left."""
    root, name = on_disk(checkpoint.path).parent, checkpoint.marker.name
    told = list[int]()
    assert verify(root, name, Level.LOAD, told.append) == []
    files = sum(entry.size for entry in checkpoint.marker.files)
    assert sum(told) > files
    assert look(checkpoint, Level.SIZES) == []
    mark = read_mark(root, Mark.VERIFIED, name)
    assert (mark["level"], mark["damage"]) == ("load", [])
    assert list((root / READERS).iterdir()) == []


@pytest.mark.parametrize("file", ["__0_0.distcp", ".metadata", "state/rank_00000.json"])
def test_flipped_bit_is_found_when_the_look_is_deep(checkpoint: Checkpoint, file: str) -> None:
    """And only then; what was found is remembered until a deep look finds it good."""
    root, name = on_disk(checkpoint.path).parent, checkpoint.marker.name
    flip_bit(on_disk(checkpoint.path) / file)
    assert look(checkpoint, Level.SIZES) == []
    damage = [f"{file} is damaged, its digest differs"]
    assert look(checkpoint, Level.LOAD) == damage
    assert look(checkpoint, Level.SIZES) == []
    assert read_mark(root, Mark.VERIFIED, name)["damage"] == damage
    flip_bit(on_disk(checkpoint.path) / file)
    assert look(checkpoint, Level.LOAD) == []
    assert read_mark(root, Mark.VERIFIED, name)["damage"] == []


def change_state(directory: Path, **changes: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Change what a rank's state file says."""
    path = directory / "state/rank_00000.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_index(directory: Path, change: Callable[[Any], object]) -> None:
    """Change DCP's index."""
    path = directory / ".metadata"
    metadata = pickle.loads(path.read_bytes())  # noqa: S301 - we have just written it
    change(metadata)
    path.write_bytes(pickle.dumps(metadata))


def point_elsewhere(metadata: Any) -> None:  # noqa: ANN401 - DCP's own
    """Let the index point out of the checkpoint."""
    for key, item in metadata.storage_data.items():
        metadata.storage_data[key] = replace(item, relative_path="../../etc/passwd")


def point_too_far(metadata: Any) -> None:  # noqa: ANN401 - likewise
    """Let the index point behind the end of a file."""
    for key, item in metadata.storage_data.items():
        metadata.storage_data[key] = replace(item, offset=10**9)


class Hostile:
    """Runs a program when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('it ran')",)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "state of another step": (lambda d: change_state(d, step=7), "state of rank 0 is of step 7"),
    "state of more ranks": (lambda d: change_state(d, world_size=4), "is of step 1 and 4 ranks"),
    "state of another schema": (lambda d: change_state(d, schema=9), "not a state file of schema"),
    "a tensor is missing": (
        lambda d: change_index(d, lambda m: m.state_dict_metadata.popitem()),
        "the index lacks 1 tensors",
    ),
    "index points elsewhere": (
        lambda d: change_index(d, point_elsewhere),
        "the index points to ../../etc/passwd",
    ),
    "index points too far": (lambda d: change_index(d, point_too_far), ""),
    "index runs a program": (
        lambda d: (d / ".metadata").write_bytes(pickle.dumps(Hostile())),
        "names builtins.exec",
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_checkpoint_is_found_broken_when_it_was_written_so(
    checkpoint: Checkpoint, broken: str
) -> None:
    """Its digests are right, and it can't be loaded all the same: only loading shows it."""
    break_it, why = BROKEN[broken]
    break_it(on_disk(checkpoint.path))
    mark_again(on_disk(checkpoint.path))
    assert look(checkpoint, Level.SIZES) == []
    (damage,) = look(checkpoint, Level.LOAD)
    assert why in damage


def test_verdict_is_given_when_it_cannot_be_kept(checkpoint: Checkpoint) -> None:
    """On read-only storage, say."""
    root = on_disk(checkpoint.path).parent
    for kind in (Mark.VERIFIED, READERS):
        (root / kind).write_text("no directory")
    assert look(checkpoint, Level.SIZES) == []
    flip_bit(on_disk(checkpoint.path) / "__0_0.distcp")
    assert len(look(checkpoint, Level.LOAD)) == 1


def test_reason_is_given_when_it_is_no_checkpoint(checkpoint: Checkpoint) -> None:
    """And is remembered as well."""
    (on_disk(checkpoint.path) / "__0_0.distcp").unlink()
    assert look(checkpoint, Level.LOAD) == ["__0_0.distcp is missing"]
    assert names_with(checkpoint.path.parent, Mark.VERIFIED) == {checkpoint.marker.name}


def test_verdict_is_not_kept_when_the_save_is_on_its_way(checkpoint: Checkpoint) -> None:
    """It was no checkpoint then, and is a good one now."""
    path = on_disk(checkpoint.path)
    marker = (path / MARKER).read_bytes()
    (path / MARKER).unlink()
    assert look(checkpoint, Level.LOAD) == ["no commit marker, the save never finished"]
    (path / MARKER).write_bytes(marker)
    (entry,) = catalogue(path.parent)
    assert (entry.state, entry.verified) == (SaveState.COMMITTED, None)


def test_no_verdict_is_kept_when_the_checkpoint_goes_meanwhile(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would take it away again."""
    root, name = on_disk(checkpoint.path).parent, checkpoint.marker.name

    def deleted(_: Checkpoint, **__: object) -> list[str]:
        delete_checkpoint(root, name)
        return [MARKER]

    monkeypatch.setattr(verification, "damaged_files", deleted)
    assert look(checkpoint, Level.LOAD) != []
    assert names_with(root, Mark.VERIFIED) == set()


def test_nothing_is_said_of_a_checkpoint_when_its_store_is_in_trouble(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that answers 503 has not lost anything."""
    root = directory_as_bucket(on_disk(checkpoint.path).parent)

    def refuse(self: Bucket, key: str) -> memoryview:
        if key.endswith(MARKER):
            return whole(self, key)
        raise OSError(errno.EIO, "503 Service Unavailable", key)

    whole = Bucket._whole  # what get and chunks ask with
    monkeypatch.setattr(Bucket, "_whole", refuse)
    with pytest.raises(CheckpointError, match=r"cannot be read: .*503"):
        verify(root, checkpoint.marker.name, Level.LOAD)
    assert names_with(root, Mark.VERIFIED) == set()
