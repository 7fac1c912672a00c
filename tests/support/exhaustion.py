"""A process that is short of something, for as long as a test needs it."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def all_descriptors_used() -> Iterator[None]:
    """Leave this process no descriptor to open inside the block."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        _take_all(taken)
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def file_size_limit(limit_bytes: int) -> Iterator[None]:
    """Let this process make no file longer inside the block; a write across it is cut short.

    The whole process is meant, and what pytest captures as well.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _take_all(taken: list[int]) -> None:
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
