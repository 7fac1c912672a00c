"""Ends in a row: what counts, what begins the row anew, and what is never counted."""

from pathlib import Path

import pytest

from tests.support.saving import commit_save
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.launch.crash_loop import FOLDER, End, Row, code_in_a_row, note_end
from trainer_hooks.results import RankResult, RankState


def result(root: Path | None, attempt: int | None) -> RankResult:
    """Return what a rank of an attempt has left."""
    return RankResult(
        state=RankState.RUNNING,
        pid=1,
        rank=0,
        step=3,
        committed_step=None,
        root=None if root is None else str(root),
        attempt=attempt,
    )


def code(root: Path, attempt: int, own: int) -> tuple[int, str]:
    """Return the code of a launch whose own would be this."""
    return code_in_a_row(own, [None, result(root, attempt)], max_crashes=3)


def test_code_is_79_when_crashes_follow_each_other(tmp_path: Path) -> None:
    """The third one says so, with its own code; those before have their own."""
    assert code(tmp_path, 1, 1) == (1, "; crash 1 of 3 and no new checkpoint")
    assert code(tmp_path, 2, 139)[0] == 139
    last, said = code(tmp_path, 3, 7)
    assert last == 79
    assert "3 crashes in a row and no new checkpoint" in said
    assert "(this one's code was 7)" in said


def test_row_begins_anew_when_something_was_committed(tmp_path: Path) -> None:
    """By a crashed attempt itself, too: it has got somewhere. What is over is forgotten."""
    first = start_attempt(tmp_path)
    assert code(tmp_path, first.number, 1) == (1, "; crash 1 of 3 and no new checkpoint")
    second = start_attempt(tmp_path)
    commit_save(tmp_path, 10, second)
    assert code(tmp_path, second.number, 1) == (1, "")
    assert list((tmp_path / FOLDER).iterdir()) == []
    assert code(tmp_path, 3, 1) == (1, "; crash 1 of 3 and no new checkpoint")


def test_launchers_of_one_attempt_count_once(tmp_path: Path) -> None:
    """Four nodes see the same crash."""
    assert [code(tmp_path, 1, 1)[0] for _ in range(4)] == [1, 1, 1, 1]


def test_preemptions_end_nothing_and_are_counted_apart(tmp_path: Path) -> None:
    """However many; and crashes between them are crashes in a row all the same."""
    assert code(tmp_path, 1, 75) == (75, "")
    assert code(tmp_path, 2, 75) == (75, "; 2 preemptions in a row and no new checkpoint")
    assert [code(tmp_path, attempt, 75)[0] for attempt in range(3, 20)] == [75] * 17
    assert [code(tmp_path, 20 + i, 1)[0] for i in range(3)] == [1, 1, 79]


@pytest.mark.parametrize("own", [0, 76, 78])
def test_code_stands_when_it_is_no_crash(tmp_path: Path, own: int) -> None:
    """Done, a lost peer, a set-up that is wrong: nothing is noted."""
    assert code(tmp_path, 1, own) == (own, "")
    assert not (tmp_path / FOLDER).exists()


def test_code_stands_when_nobody_knows_the_attempt(tmp_path: Path) -> None:
    """A script without TrainerHooks, or one that dies before it has met the others."""
    assert code_in_a_row(1, [None], max_crashes=1) == (1, "")
    assert code_in_a_row(1, [result(None, None)], max_crashes=1) == (1, "")
    assert code_in_a_row(1, [result(tmp_path, None)], max_crashes=1) == (1, "")


def test_code_stands_when_nothing_can_be_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A full or vanished disk is not one failure more."""
    (tmp_path / FOLDER).touch()
    assert code(tmp_path, 1, 1) == (1, "")
    assert "how often this job has crashed in a row is not known" in caplog.text


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """Only what was noted here counts."""
    folder = tmp_path / FOLDER
    folder.mkdir()
    for name in ("a1.crashed.bak", "b1.crashed", "a.crashed", "a1.finished"):
        (folder / name).touch()
    assert note_end(tmp_path, 2, End.CRASHED) == Row(crashes=1)
    assert len(list(folder.iterdir())) == 5
