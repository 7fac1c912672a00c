"""Small files that a killed writer has left aside go after a day, and no others."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.support.saving import commit_save, directory_as_bucket
from trainer_hooks.checkpoint.aside import sweep_aside
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.retention import retain, sweep

SAVE = "step_000000300.a1-5f3c"
LEFT = [
    f".pinned/.{SAVE}.0a1b2c3d.tmp",
    f".unfinished/.{SAVE}.00000000.tmp",
    ".attempts/.17.0a1b2c3d.tmp",
    ".LATEST.0a1b2c3d.tmp",
]
OTHERS = [
    f".pinned/{SAVE}",
    f".pinned/.{SAVE}.tmp",
    ".pinned/.notes.0a1b2c3d.tmp",
    ".notes.0a1b2c3d.tmp",
    f"mine/.{SAVE}.0a1b2c3d.tmp",
]

KILLED = """
    import os, signal, sys
    from pathlib import Path
    from trainer_hooks.checkpoint.layout import SaveName
    from trainer_hooks.checkpoint.marks import Mark, put_mark
    Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    put_mark(Path(sys.argv[1]), Mark.PINNED, SaveName.parse(sys.argv[2]), {})
"""


def lay(root: Path, *names: str, age_s: float) -> None:
    """Put files there that are so old."""
    for name in names:
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (time.time() - age_s,) * 2)


def files(root: Path) -> set[str]:
    """Return the names of all files."""
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_files_aside_are_swept_when_they_are_a_day_old(tmp_path: Path) -> None:
    """Theirs is no writer any more; what is of another name is not ours to remove."""
    lay(tmp_path, *LEFT, *OTHERS, age_s=25 * 3600)
    sweep_aside(tmp_path)
    assert files(tmp_path) == {*OTHERS}


def test_files_aside_stay_when_their_writer_may_live(tmp_path: Path) -> None:
    """It would fail for want of what it has written."""
    lay(tmp_path, *LEFT, age_s=3600)
    sweep_aside(tmp_path)
    assert files(tmp_path) == {*LEFT}


def test_nothing_is_swept_when_there_is_nothing(tmp_path: Path) -> None:
    """No directory, or a bucket, where nothing is written aside."""
    sweep_aside(tmp_path / "none")
    sweep_aside(directory_as_bucket(tmp_path / "bucket"))


@pytest.mark.parametrize("by", ["retain", "sweep"])
def test_mark_that_was_cut_short_is_swept_when_a_run_or_a_person_tidies_up(
    tmp_path: Path, by: str
) -> None:
    """By the next attempt, by retention and by gc."""
    name = commit_save(tmp_path, 300).name
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path), name]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    (left,) = (tmp_path / ".pinned").iterdir()
    os.utime(left, (time.time() - 25 * 3600,) * 2)
    if by == "retain":
        retain(tmp_path, Keep(last=1), lambda: True)
    else:
        sweep(tmp_path)
    assert not left.exists()
