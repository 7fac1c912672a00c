"""A file descriptor kept back, so that a file can be written when all others are used up."""

import contextlib
import os
from collections.abc import Iterator


class SpareDescriptor:
    """One descriptor that is held for a use to come; not for use in two threads at a time."""

    def __init__(self) -> None:
        self._held: int | None = None
        self._take()

    @contextlib.contextmanager
    def given_up(self) -> Iterator[None]:
        """Leave the block one descriptor to open, and hold one again after it."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        with contextlib.suppress(OSError):  # none left: the next block has to do without
            self._held = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
