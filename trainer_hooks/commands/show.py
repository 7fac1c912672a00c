"""What commands print: a closed pipe or a full disk is one line, never a traceback."""

import os
import sys

from trainer_hooks.errors import ConfigError
from trainer_hooks.untrusted import harmless


def show(text: str) -> None:
    """Write lines to standard output, at once; escape what upsets a terminal or is not in its set.

    Raises:
        ConfigError: Standard output is closed or full, or its reader has gone.
    """
    if sys.stdout is None:
        raise ConfigError("standard output is closed")
    try:
        encoding = sys.stdout.encoding
        text = harmless(text)
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stdout.flush()
    except OSError as error:
        # Or Python would try once more at its end, and complain in many lines.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise ConfigError(f"standard output cannot be written: {error.strerror}") from error
