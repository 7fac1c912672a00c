"""A progress bar, for people who wait."""

import sys
from typing import TextIO

WIDTH = 40


class ProgressBar:
    """A line on a terminal that fills up, and is gone at the end. Elsewhere it is silent.

    Args:
        what: Is under way.
        stream: Where people see it; standard error, so that standard output stays clean.
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what = what
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = self._stream.isatty()
        self._shown = -1

    def __call__(self, done: float) -> None:
        """Show how much is done, from 0 to 1."""
        percent = int(100 * done)
        if not self._is_shown or percent == self._shown:
            return
        self._shown = percent
        bar = "█" * round(WIDTH * done)
        self._stream.write(f"\r{self._what} {bar:·<{WIDTH}} {percent:3d} %")
        if percent >= 100:
            self._stream.write("\r\x1b[K")  # the line is cleared
        self._stream.flush()
