"""Files that are whole or absent, and stay so when the power goes.

``os.replace`` is atomic but not durable: the file is synced before, its directory after. What is
put into a bucket is both.
"""

import contextlib
import errno
import os
import secrets
from pathlib import Path

from trainer_hooks.checkpoint.place import ObjectPlace, Place

_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def sync_directory(path: Place) -> None:
    """Make the directory's entries durable."""
    if isinstance(path, ObjectPlace):
        return  # what was put is durable
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: Place) -> None:
    """Make a directory and those above it that are missing, durably."""
    if isinstance(path, ObjectPlace):
        return
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for made in missing:
        with contextlib.suppress(PermissionError):  # one may write where one may not look
            sync_directory(made.parent)


def write_file(path: Place, data: bytes) -> None:
    """Write or replace a file, atomically and durably."""
    if isinstance(path, ObjectPlace):
        path.bucket.put(path.key, data)
        return
    temporary = _temporary(path)
    _write_synced(temporary, data)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def create_file(path: Place, data: bytes) -> None:
    """Create a file, atomically and durably.

    Raises:
        FileExistsError: The file exists; it is left as it is.
    """
    if isinstance(path, ObjectPlace):
        path.bucket.create(path.key, data)
        return
    temporary = _temporary(path)
    _write_synced(temporary, data)
    try:
        os.link(temporary, path)  # unlike a rename, it never replaces
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _rename_to_new(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def _temporary(path: Path) -> Path:
    """Two processes may write the same file at once, each whole."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def _rename_to_new(temporary: Path, path: Path) -> None:
    """Where there are no hard links; the caller's directory has one writer, so nobody is raced."""
    if path.exists():
        raise FileExistsError(errno.EEXIST, "exists already", str(path))
    temporary.rename(path)


def _write_synced(path: Path, data: bytes) -> None:
    try:
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)  # a full disk is not made fuller
        raise
