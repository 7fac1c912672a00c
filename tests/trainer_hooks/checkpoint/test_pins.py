"""A pin and a deletion that meet: one of the two sees the other."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.retained import keep_last, name_of, steps
from tests.support.saving import commit_save, write_save
from trainer_hooks.checkpoint import pins, removal
from trainer_hooks.checkpoint.layout import Attempt
from trainer_hooks.checkpoint.marks import Mark, names_with, put_mark
from trainer_hooks.checkpoint.pins import pin
from trainer_hooks.checkpoint.removal import delete_checkpoint
from trainer_hooks.errors import CheckpointError


def test_checkpoint_stays_when_it_is_pinned_as_its_deletion_begins(
    tmp_path: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deletes looks again once it has left word, and takes that back."""
    old = name_of(commit_save(tmp_path, 10, attempt))
    commit_save(tmp_path, 20, attempt)

    def leave_word(root: Path, mark: Mark, *rest: Any, **more: Any) -> None:  # noqa: ANN401 - as it is called
        put_mark(root, mark, *rest, **more)
        put_mark(root, Mark.PINNED, old, {})

    monkeypatch.setattr(removal, "put_mark", leave_word)
    assert keep_last(tmp_path, 1) == [20, 10]
    assert names_with(tmp_path, Mark.UNFINISHED) == set()


def test_pin_is_refused_when_the_deletion_has_looked_before(
    tmp_path: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not promised for what will be gone."""
    name = name_of(commit_save(tmp_path, 10, attempt))
    put_mark(tmp_path, Mark.UNFINISHED, name, {})
    monkeypatch.setattr(
        "trainer_hooks.checkpoint.pins.time.sleep", lambda _: delete_checkpoint(tmp_path, name)
    )
    with pytest.raises(CheckpointError, match="is not pinned: it was being deleted"):
        pin(tmp_path, name, "paper")
    assert steps(tmp_path) == []
    assert names_with(tmp_path, Mark.PINNED) == set()


def test_pin_holds_when_a_deletion_was_cut_short_before_it_began(
    tmp_path: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody goes on with that."""
    monkeypatch.setattr(pins, "DECIDING_S", 0.1)
    name = name_of(commit_save(tmp_path, 10, attempt))
    commit_save(tmp_path, 20, attempt)
    put_mark(tmp_path, Mark.UNFINISHED, name, {})
    pin(tmp_path, name, "paper")
    assert keep_last(tmp_path, 1) == [20, 10]


def test_save_is_pinned_when_it_is_on_its_way(tmp_path: Path, attempt: Attempt) -> None:
    """It bears the word too, of its writer."""
    name = write_save(tmp_path, 10, attempt)
    pin(tmp_path, name, "paper")
    assert names_with(tmp_path, Mark.PINNED) == {name}
