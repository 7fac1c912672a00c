"""What a killed launcher has left is swept by the next one, and nothing else."""

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from trainer_hooks.launch.results_directory import ResultsDirectory
from trainer_hooks.refusal import say_why
from trainer_hooks.results import RESULT_DIR_VARIABLE, RankResult, RankState, report_result


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use the test's own place for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def killed(directory: ResultsDirectory) -> Path:
    """Let its launcher die: the kernel closes what it had open, and nobody removes anything."""
    assert directory._lock is not None
    os.close(directory._lock)
    (directory.path / "local_rank_000.json").write_text("{}")
    (directory.path / "local_rank_001.tmp").write_text("{")
    return directory.path


def test_nothing_is_left_when_a_launch_has_ended(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all that a rank writes there; and however often it is told to remove it."""
    directory = ResultsDirectory()
    monkeypatch.setenv(RESULT_DIR_VARIABLE, str(directory.path))
    report_result(RankResult(state=RankState.RUNNING, pid=1, rank=0, step=0, committed_step=None))
    say_why(ValueError("no such thing"))
    assert len([*directory.path.iterdir()]) == 2
    directory.remove()
    directory.remove()
    assert [*temporary.iterdir()] == []


def test_directory_is_swept_when_its_launcher_was_killed(temporary: Path) -> None:
    """By the next launch; that of one that lives stays, with what is in it."""
    living = ResultsDirectory()
    (living.path / "local_rank_000.json").write_text("{}")
    dead = killed(ResultsDirectory())
    new = ResultsDirectory()
    assert not dead.exists()
    assert (living.path / "local_rank_000.json").exists()
    assert {*temporary.iterdir()} == {living.path, new.path}


def test_nothing_of_others_is_swept_when_it_has_our_name(temporary: Path) -> None:
    """A file, a link, another user's directory, and what is no result."""
    (temporary / "reprieve-launch-file").write_text("mine")
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "local_rank_000.json").write_text("mine")
    (temporary / "reprieve-launch-link").symlink_to(elsewhere)
    more = temporary / "reprieve-launch-more"
    more.mkdir()
    (more / "notes.txt").write_text("mine")
    before = {*temporary.rglob("*")}
    ResultsDirectory().remove()
    assert {*temporary.rglob("*")} == before


def test_nothing_is_swept_when_an_older_launcher_may_be_at_it(temporary: Path) -> None:
    """Those held no lock on theirs, which had another name."""
    older = temporary / "reprieve-results-abc"
    older.mkdir()
    (older / "local_rank_000.json").write_text("{}")
    ResultsDirectory().remove()
    assert [path.name for path in older.iterdir()] == ["local_rank_000.json"]


def test_another_directory_is_made_when_a_sweep_came_between(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made and not yet locked, it looks like a dead one."""
    flock, swept = fcntl.flock, list[Path]()

    def late(descriptor: int, how: int) -> None:
        if how == fcntl.LOCK_EX and not swept:
            (path,) = temporary.iterdir()
            path.rmdir()
            swept.append(path)
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    directory = ResultsDirectory()
    assert swept
    assert directory.path.is_dir()
    assert directory.path not in swept
