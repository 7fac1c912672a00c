"""What a start makes of the state that an earlier run has left."""

import os
from pathlib import Path

import pytest

from tests.support.clocks import START
from watcher.actions.state_file import STATE_NAME, compose
from watcher.actions.state_start import adopt_state
from watcher.errors import StartFailed
from watcher.notice import Notice, NoticeKind

SOURCES = {"aws_sqs": {NoticeKind.MAINTENANCE}}


def notice(name: str, source: str = "aws_sqs") -> Notice:
    """Build a maintenance."""
    return Notice(id=name, kind=NoticeKind.MAINTENANCE, source=source, received=START)


def leave(run_dir: Path, *notices: Notice, boot_id: str = "boot-a") -> Path:
    """Leave the state of an earlier run."""
    path = run_dir / STATE_NAME
    path.write_bytes(compose(notices, boot_id))
    return path


def test_notices_are_adopted_when_an_earlier_run_of_this_boot_has_kept_them(tmp_path: Path) -> None:
    """In their order; the file stays for the next run."""
    path = leave(tmp_path, notice("a"), notice("b"))
    assert adopt_state(tmp_path, "boot-a", SOURCES) == (notice("a"), notice("b"))
    assert path.exists()


def test_nothing_is_adopted_when_nothing_was_left(tmp_path: Path) -> None:
    """As at the first start of a boot."""
    assert adopt_state(tmp_path, "boot-a", SOURCES) == ()


def test_notice_is_left_out_when_nobody_would_take_it_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its source is switched off; the others count, and a line names it."""
    leave(tmp_path, notice("a", "gcp_pubsub"), notice("b"))
    assert adopt_state(tmp_path, "boot-a", SOURCES) == (notice("b"),)
    assert "notice dropped notice_id=a" in caplog.text


def test_start_fails_when_a_notices_cloud_is_only_silent(tmp_path: Path) -> None:
    """It may answer soon, and the notice is still in force."""
    leave(tmp_path, notice("a"))
    with pytest.raises(StartFailed, match=r"state\.json holds"):
        adopt_state(tmp_path, "boot-a", {}, ["aws_sqs"])


@pytest.mark.parametrize("what", ["void", "damaged", "link", "fifo"])
def test_file_is_removed_when_it_means_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    """Of another boot, no JSON, or something that another user has put there."""
    path = leave(tmp_path, notice("a"), boot_id="boot-b" if what == "void" else "boot-a")
    if what == "damaged":
        path.write_bytes(b"{")
    elif what == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif what == "fifo":
        path.unlink()
        os.mkfifo(path)
    assert adopt_state(tmp_path, "boot-a", SOURCES) == ()
    assert not path.is_symlink()
    assert not path.exists()
    assert "state removed path=" in caplog.text
