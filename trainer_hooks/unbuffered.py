"""Log lines that a signal handler may write, in the middle of another one too.

Python's buffered streams refuse a write that begins while another one of the same thread is under
way, as a handler's does: its line is lost, and with the error what the handler was about to do.
"""

import logging
import os

_STDERR = 2


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
