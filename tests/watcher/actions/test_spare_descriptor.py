"""The descriptor kept back: a use finds one where the process has used up all others."""

import os
from pathlib import Path

import pytest

from tests.support.exhaustion import all_descriptors_used
from watcher.actions.spare_descriptor import SpareDescriptor


def test_spare_lets_a_file_be_opened_again_and_again_when_all_others_are_used(
    tmp_path: Path,
) -> None:
    """It is given up for the use, taken back after it, and nobody else gets it in between."""
    spare, path = SpareDescriptor(), tmp_path / "file"
    written: list[str] = []
    with all_descriptors_used():
        for text in ("first", "second"):
            with spare.given_up(), path.open("w") as file:
                file.write(text)
                written.append(text)
            with pytest.raises(OSError, match="Too many open files"):
                os.open(path, os.O_RDONLY)
    assert written == ["first", "second"]
    assert path.read_text() == "second"


def test_spare_is_done_without_when_there_was_none_to_keep(tmp_path: Path) -> None:
    """The use fails as it would have, and the next one after some are free works."""
    with all_descriptors_used():
        spare = SpareDescriptor()
        with spare.given_up(), pytest.raises(OSError, match="Too many open files"):
            os.open(tmp_path, os.O_RDONLY)
    with spare.given_up(), (tmp_path / "file").open("w") as file:
        file.write("works")
    with all_descriptors_used(), spare.given_up():
        assert (tmp_path / "file").read_text() == "works"
