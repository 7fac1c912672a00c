"""A file system that fails at a chosen call, or a machine that stops there."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

CALLS: list[tuple[object, str]] = [
    (os, "open"),
    (os, "fsync"),
    (os, "link"),
    (os, "unlink"),
    (os, "rename"),
    (os, "replace"),
    (os, "mkdir"),
    (os, "rmdir"),
    (os, "listdir"),
    (Path, "open"),
]
"""All that we do to a file system in writing; pathlib's own go through os."""


class Crashed(BaseException):
    """The machine has stopped: nothing that comes after has any effect."""


class System:
    """Counts the calls, and fails from, or at, one of them."""

    def __init__(self, fail_at: int | None, failure: BaseException) -> None:
        self.calls = list[str]()
        self._fail_at = fail_at
        self._failure = failure

    def before_call(self, name: str) -> None:
        """Fail at the chosen call, and at every later one if the machine has crashed."""
        self.calls.append(name)
        if self._fail_at is None or len(self.calls) < self._fail_at:
            return
        if len(self.calls) == self._fail_at or isinstance(self._failure, Crashed):
            raise self._failure


@contextlib.contextmanager
def failing(
    system: System, *, has_hard_links: bool = True, calls: Sequence[tuple[object, str]] = CALLS
) -> Iterator[None]:
    """Let every call of the system pass through ``system``."""

    def passed(call: Callable[..., object], name: str) -> Callable[..., object]:
        def passing(*arguments: object, **options: object) -> object:
            system.before_call(name)
            if name == "link" and not has_hard_links:
                raise OSError(errno.EPERM, "no hard links here")
            return call(*arguments, **options)

        return passing

    with pytest.MonkeyPatch.context() as patch:
        for home, name in calls:
            patch.setattr(home, name, passed(getattr(home, name), name))
        yield
