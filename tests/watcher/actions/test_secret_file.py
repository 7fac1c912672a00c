"""Secrets in files, whose text is in no message."""

import os
from pathlib import Path

import pytest

from watcher.actions.secret_file import LIMIT_BYTES, read_secret
from watcher.errors import ActionRetryable


def test_secret_is_read_through_links_when_it_is_mounted_as_kubernetes_does(
    tmp_path: Path,
) -> None:
    """Without the end of its line."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text("  abc def\r\n")
    (tmp_path / "now").symlink_to("data")
    (tmp_path / "token").symlink_to("now/token")
    assert read_secret(tmp_path / "token") == "abc def"


@pytest.mark.parametrize(
    "content",
    [b"", b" \n", b"canary\nX: y", b"canary\x00", b"canary\xe9", b"c" * (LIMIT_BYTES + 1)],
)
def test_secret_is_refused_when_it_is_not_one_line_of_ascii(tmp_path: Path, content: bytes) -> None:
    """It would be another header, or none."""
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ActionRetryable, match=f"{file} has to be") as caught:
        read_secret(file)
    assert "canary" not in str(caught.value)


def test_secret_is_refused_when_there_is_no_such_file(tmp_path: Path) -> None:
    """A pipe that nobody writes to holds up nobody."""
    os.mkfifo(tmp_path / "pipe")
    for name in ("none", "pipe", "."):
        with pytest.raises(ActionRetryable, match=str(tmp_path)):
            read_secret(tmp_path / name)
