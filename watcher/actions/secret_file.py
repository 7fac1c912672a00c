"""Reads a secret from a file, each time that it is needed, so that it can be renewed in place."""

import os
import stat
from pathlib import Path

from watcher.errors import ActionRetryable

LIMIT_BYTES = 4096
"""Longest secret, which is one line; a long URL or token has a few hundred characters."""


def read_secret(path: Path) -> str:
    """Return the line in a file, without white space around it; blocks.

    A symlink is followed, for a mounted Secret of Kubernetes' is nothing else.

    Raises:
        ActionRetryable: There is none at the moment; the message names the file, and nothing in it.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(LIMIT_BYTES + 1).strip() if is_file else b""
    except OSError as error:
        raise ActionRetryable(f"can't read {path}: {error.strerror}") from error
    text = data.decode("ascii", errors="replace")
    if not text or len(data) > LIMIT_BYTES or not text.isascii() or not text.isprintable():
        raise ActionRetryable(
            f"{path} has to be a file with one line of printable ASCII, at most {LIMIT_BYTES} bytes"
        )
    return text
