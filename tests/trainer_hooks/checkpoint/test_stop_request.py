"""A user's request to stop: for one attempt, and readable whatever is in the file."""

from pathlib import Path

import pytest

from trainer_hooks.checkpoint import stop_request
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.place import read_json
from trainer_hooks.checkpoint.stop_request import (
    FOLDER,
    REASON_LIMIT,
    ask,
    asked,
    attempt_to_ask,
    confirm,
    forget_before,
    heard_at,
    withdraw,
)
from trainer_hooks.errors import CheckpointError


def test_attempt_is_asked_and_no_other_when_a_request_names_it(tmp_path: Path) -> None:
    """The next start of the job is not stopped by what its predecessor was asked."""
    assert asked(tmp_path, 3) is None
    ask(tmp_path, 3, "enough")
    assert [asked(tmp_path, number) for number in (2, 3, 4)] == [None, "enough", None]


def test_user_is_told_when_the_attempt_has_heard(tmp_path: Path) -> None:
    """With the step at which it was."""
    ask(tmp_path, 3, "")
    assert heard_at(tmp_path, 3) is None
    confirm(tmp_path, 3, 1234)
    assert heard_at(tmp_path, 3) == 1234


def test_nothing_is_asked_when_the_request_is_withdrawn(tmp_path: Path) -> None:
    """Twice is once."""
    ask(tmp_path, 3, "")
    withdraw(tmp_path, 3)
    withdraw(tmp_path, 3)
    assert asked(tmp_path, 3) is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"reason": 5}', "[" * 1000, "x" * 20_000])
def test_request_counts_when_its_file_makes_no_sense(tmp_path: Path, content: str) -> None:
    """Its name says all; what is inside is for people."""
    (tmp_path / FOLDER).mkdir()
    for kind in ("asked", "heard"):
        (tmp_path / FOLDER / f"a3.{kind}").write_text(content)
    assert (asked(tmp_path, 3), heard_at(tmp_path, 3)) == ("", 0)


def test_request_counts_when_it_is_a_link(tmp_path: Path) -> None:
    """And what the link leads to is not read."""
    (tmp_path / FOLDER).mkdir()
    (tmp_path / "secret").write_text('{"reason": "secret"}')
    (tmp_path / FOLDER / "a3.asked").symlink_to(tmp_path / "secret")
    assert asked(tmp_path, 3) == ""


def test_reason_is_cut_when_it_is_long(tmp_path: Path) -> None:
    """On the way in and on the way out."""
    ask(tmp_path, 3, "x" * 10_000)
    assert asked(tmp_path, 3) == "x" * REASON_LIMIT


def test_attempt_to_ask_is_the_newest_when_there_were_several(tmp_path: Path) -> None:
    """An older one may not commit any more."""
    for _ in range(3):
        start_attempt(tmp_path)
    assert attempt_to_ask(tmp_path) == 3


def test_nobody_is_asked_when_no_run_has_ever_begun(tmp_path: Path) -> None:
    """A wrong path must not look like a run that does not answer."""
    with pytest.raises(CheckpointError, match="no run has ever begun in"):
        attempt_to_ask(tmp_path)


def test_earlier_requests_go_when_an_attempt_begins(tmp_path: Path) -> None:
    """Its own stay, and so does what is none of ours."""
    forget_before(tmp_path, 9)
    for number in (2, 9, 10):
        ask(tmp_path, number, "")
        confirm(tmp_path, number, 1)
    (tmp_path / FOLDER / "notes").touch()
    forget_before(tmp_path, 9)
    left = sorted(path.name for path in (tmp_path / FOLDER).iterdir())
    assert left == ["a10.asked", "a10.heard", "a9.asked", "a9.heard", "notes"]


def test_it_is_unknown_when_the_folder_cannot_be_read(tmp_path: Path) -> None:
    """No answer is neither "nobody asks" nor a request."""
    far = tmp_path.joinpath(*["x" * 250] * 17)  # too long: the system answers neither yes nor no
    for look in (asked, heard_at):
        with pytest.raises(CheckpointError):
            look(far, 3)


def test_nothing_is_asked_when_the_folder_leads_to_itself(tmp_path: Path) -> None:
    """Nothing can have been left behind it."""
    (tmp_path / FOLDER).symlink_to(FOLDER)
    assert asked(tmp_path, 3) is None
    assert heard_at(tmp_path, 3) is None


def test_nothing_is_asked_when_the_request_is_withdrawn_under_its_readers_eyes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there, and could not be read any more: nobody stops for it."""
    ask(tmp_path, 3, "")

    def read_late(path: Path, **options: int) -> object:
        path.unlink()
        return read_json(path, **options)

    monkeypatch.setattr(stop_request, "read_json", read_late)
    assert asked(tmp_path, 3) is None
