"""Log lines that a signal handler may write, in the middle of another one too.

Python's buffered streams refuse a write that begins while another one of the same thread is under
way, as a handler's does: its line is lost, and with the error what the handler was about to do.
"""

import logging
import os

_STDERR = 2


def occupy_standard_descriptors() -> None:
    """Put /dev/null where a standard descriptor is closed. A program calls it before all else.

    Or a file or a socket that it opens later becomes its standard error, and the log goes there.
    """
    for descriptor in range(_STDERR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest that is free: this one


class UnbufferedHandler(logging.Handler):
    """Writes each line to standard error by itself."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record; see :class:`logging.Handler`."""
        try:
            left = (self.format(record) + "\n").encode(errors="backslashreplace")
            while left:
                left = left[os.write(_STDERR, left) :]
        except Exception:  # noqa: BLE001 - as every handler of the library does
            self.handleError(record)
