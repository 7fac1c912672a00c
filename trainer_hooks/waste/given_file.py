"""Files that are named on the command line: plain ones, or ``-`` for the standard input."""

import os
import stat
import sys
from pathlib import Path

from trainer_hooks.errors import ConfigError, UntrustedFileError
from trainer_hooks.untrusted import shortened

STDIN = Path("-")


def read_given(path: Path, what: str, max_bytes: int) -> bytes:
    """Read a file that somebody has named, and wait for nobody to write it.

    Args:
        path: Of the file; ``-`` stands for the standard input.
        what: The file for people, such as "trace".
        max_bytes: Most that it may hold.

    Raises:
        ConfigError: There is no such file, it is no plain one, or it cannot be read.
        UntrustedFileError: It is larger.
    """
    where = f"the {what} {shortened(str(path))}"
    try:
        data = _stdin(max_bytes) if path == STDIN else _plain(path, where, max_bytes)
    except OSError as error:
        raise ConfigError(f"{where} cannot be read: {error.strerror}") from error
    if len(data) > max_bytes:
        raise UntrustedFileError(f"{where} is larger than {max_bytes} bytes")
    return data


def _stdin(max_bytes: int) -> bytes:
    return sys.stdin.buffer.read(max_bytes + 1)


def _plain(path: Path, where: str, max_bytes: int) -> bytes:
    # Not to block: a fifo would be waited for until somebody writes to it, perhaps for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigError(f"{where} is no regular file; what a program writes is read from -")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(max_bytes + 1)
    finally:
        os.close(descriptor)
