"""Reads a file in a directory that other users write: whatever may lie there, it never hangs."""

import os
import stat

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_foreign(directory: int, name: str, limit_bytes: int) -> tuple[bytes, int]:
    """Return what the file holds, and the user whose it is.

    Args:
        directory: A descriptor of the directory.
        name: The file's name in it.
        limit_bytes: What is longer is not read.

    Raises:
        OSError: It can't be read, or is a symbolic link.
        ValueError: It is no regular file with one name, or too long.
    """
    descriptor = os.open(name, _FLAGS, dir_fd=directory)
    try:
        status = os.fstat(descriptor)
        # A second name may be somebody's way to have another's file read here. One that was
        # renamed over has 0 links, and was there once all the same.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise ValueError("not a regular file with one name")
        text = os.read(descriptor, limit_bytes + 1)
    finally:
        os.close(descriptor)
    if len(text) > limit_bytes:
        raise ValueError(f"larger than {limit_bytes} bytes")
    return text, status.st_uid
