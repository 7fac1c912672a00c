"""Marks beside the saves: what is known of them, and what cannot be told."""

from pathlib import Path

import pytest

from trainer_hooks.checkpoint.layout import Attempt, SaveName
from trainer_hooks.checkpoint.marks import Mark, names_with, put_mark, read_mark, remove_mark
from trainer_hooks.errors import CheckpointError

NAME = SaveName(300, Attempt(17, "5f3c"))


def test_mark_is_found_when_it_was_put(tmp_path: Path) -> None:
    """Replaced by a second one, gone when it is taken off."""
    assert names_with(tmp_path, Mark.PINNED) == set()
    assert read_mark(tmp_path, Mark.PINNED, NAME) == {}
    for reason in ("first", "second"):
        put_mark(tmp_path, Mark.PINNED, NAME, {"reason": reason})
    assert names_with(tmp_path, Mark.PINNED) == {NAME}
    assert names_with(tmp_path, Mark.QUARANTINED) == set()
    assert read_mark(tmp_path, Mark.PINNED, NAME) == {"schema": 1, "reason": "second"}
    assert remove_mark(tmp_path, Mark.PINNED, NAME)
    assert not remove_mark(tmp_path, Mark.PINNED, NAME)
    assert not remove_mark(tmp_path, Mark.VERIFIED, NAME)
    assert names_with(tmp_path, Mark.PINNED) == set()


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"schema": 2, "reason": "x"}', "{}"])
def test_mark_holds_when_nobody_understands_what_it_says(tmp_path: Path, text: str) -> None:
    """The name alone is the claim."""
    put_mark(tmp_path, Mark.QUARANTINED, NAME, {"reason": "odd"})
    (tmp_path / Mark.QUARANTINED / str(NAME)).write_text(text)
    assert names_with(tmp_path, Mark.QUARANTINED) == {NAME}
    assert read_mark(tmp_path, Mark.QUARANTINED, NAME) == {}


def test_names_are_those_of_saves_when_other_files_lie_there(tmp_path: Path) -> None:
    """Of editors and copy programs, say."""
    put_mark(tmp_path, Mark.PINNED, NAME, {})
    for other in ("README", f"{NAME}~", f".{NAME}.swp"):
        (tmp_path / Mark.PINNED / other).touch()
    assert names_with(tmp_path, Mark.PINNED) == {NAME}


def test_error_is_raised_when_marks_cannot_be_read_or_written(tmp_path: Path) -> None:
    """None of them is taken for absent."""
    (tmp_path / Mark.PINNED).touch()
    with pytest.raises(CheckpointError, match="cannot be read: Not a directory"):
        names_with(tmp_path, Mark.PINNED)
    with pytest.raises(CheckpointError, match="cannot be written: File exists"):
        put_mark(tmp_path, Mark.PINNED, NAME, {})
    with pytest.raises(CheckpointError, match="cannot be removed: Not a directory"):
        remove_mark(tmp_path, Mark.PINNED, NAME)


@pytest.mark.parametrize("is_durable", [True, False])
def test_what_lies_in_the_way_is_named_with_what_to_do(tmp_path: Path, *, is_durable: bool) -> None:
    """A file, or a link to nothing, where marks of a kind should lie."""
    (tmp_path / Mark.QUARANTINED).write_text("a file")
    (tmp_path / Mark.UNFINISHED).symlink_to("nothing")
    with pytest.raises(CheckpointError, match=r"\.quarantined cannot be read: .* move it away"):
        names_with(tmp_path, Mark.QUARANTINED)
    for mark in (Mark.QUARANTINED, Mark.UNFINISHED):
        with pytest.raises(
            CheckpointError, match=rf"\{mark}/.* cannot be written: .* move it away"
        ):
            put_mark(tmp_path, mark, NAME, {}, is_durable=is_durable)
