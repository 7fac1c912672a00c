"""A large new file that is whole or absent, and of which a kill leaves nothing.

Until it is whole it has no name (``O_TMPFILE``), so it goes with the process that writes it.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from trainer_hooks.checkpoint.durable import sync_directory

_NO_NAMELESS = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS}
"""What file systems and kernels say that have none: NFS, say."""


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[BinaryIO]:
    """Yield what is written to; it becomes ``target``, durably, when the block is left in peace.

    Where a file has to have a name, it lies aside until then, and a kill leaves that.

    Raises:
        FileExistsError: The file exists; it is left as it is.
        OSError: It cannot be written.
    """
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            nameless = os.open(
                ".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666, dir_fd=directory
            )
        except OSError as error:
            if error.errno not in _NO_NAMELESS:
                raise
            with _aside(target) as file:
                yield file
        else:
            with open(nameless, "wb") as file:  # noqa: PTH123 - it has no path
                yield file
                _sync(file)
                # With a directory's descriptor, or Python would link the link in /proc itself.
                source = f"/proc/self/fd/{nameless}"
                os.link(source, target.name, dst_dir_fd=directory, follow_symlinks=True)
    finally:
        os.close(directory)
    sync_directory(target.parent)


@contextlib.contextmanager
def _aside(target: Path) -> Iterator[BinaryIO]:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            _sync(file)
        temporary.rename(target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
