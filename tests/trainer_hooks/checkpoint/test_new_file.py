"""A new file is whole or absent, also when its writer is killed."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from trainer_hooks.checkpoint.new_file import new_file

WRITER = """
    import os, signal, sys
    from pathlib import Path
    from trainer_hooks.checkpoint.new_file import new_file
    with new_file(Path(sys.argv[1])) as file:
        file.write(b"half of it" * 100_000)
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["nameless", "aside"])
def directory(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a directory where a file may have no name, or must have one."""
    if request.param == "aside":
        opened = os.open

        def refuse(path: Any, flags: int, *rest: Any, **named: Any) -> int:  # noqa: ANN401 - as os.open takes
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(errno.EOPNOTSUPP, "Operation not supported")
            return opened(path, flags, *rest, **named)

        monkeypatch.setattr(os, "open", refuse)
    return tmp_path


def test_file_is_there_when_it_was_written(directory: Path) -> None:
    """Not before; and readable by those who may read any new file."""
    with new_file(directory / "out") as file:
        file.write(b"whole")
        assert not (directory / "out").exists()
    assert [path.name for path in directory.iterdir()] == ["out"]
    assert (directory / "out").read_bytes() == b"whole"
    (directory / "other").touch()
    assert (directory / "out").stat().st_mode == (directory / "other").stat().st_mode


def test_nothing_is_left_when_it_could_not_be_written(directory: Path) -> None:
    """A full disk is not made fuller."""

    def write() -> None:
        with new_file(directory / "out") as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write()
    assert [*directory.iterdir()] == []


def test_nothing_is_left_when_the_writer_was_killed(tmp_path: Path) -> None:
    """It goes with its process. On a file system that has nameless files, as those of tests do."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path / "out")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert [*tmp_path.iterdir()] == []


def test_file_of_somebody_else_stays_when_it_came_meanwhile(tmp_path: Path) -> None:
    """A link never replaces."""

    def write() -> None:
        with new_file(tmp_path / "out") as file:
            file.write(b"ours")
            (tmp_path / "out").write_bytes(b"mine")

    with pytest.raises(FileExistsError):
        write()
    assert (tmp_path / "out").read_bytes() == b"mine"
