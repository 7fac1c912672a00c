"""A process that has used up its file descriptors, for as long as a test needs it."""

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


def _take_all(taken: list[int]) -> None:
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
