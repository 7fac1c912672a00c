"""What commands read and print: a closed pipe or a full disk is one line, never a traceback."""

import contextlib
import os
import shutil
import sys

from watcher.errors import ConfigError


def occupy_standard_descriptors() -> None:
    """Put /dev/null where a standard descriptor is closed. A program calls it before all else.

    Or a file or a socket that it opens later becomes its standard error, and the log goes there.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest that is free: this one


def show(text: str) -> None:
    """Write to standard output, at once; what its encoding lacks, such as a file's name, escaped.

    Raises:
        ConfigError: Standard output is closed or full, or its reader has gone.
    """
    try:
        encoding = sys.stdout.encoding
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    except AttributeError as error:  # Python's word for a closed one
        raise ConfigError("standard output is closed") from error
    except OSError as error:
        raise _lost(error) from error
    flush()


def width() -> int | None:
    """Return the columns of the terminal that reads what is shown; None for a file or a pipe."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if is_terminal else None


def flush() -> None:
    """Make sure that what was printed by others has arrived, if anything can be printed at all.

    Raises:
        ConfigError: As for show.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise _lost(error) from error


def tell(message: object) -> None:
    """Write a line to standard error, if there is one: a refusal, or how far something is."""
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


def complain(message: object) -> None:
    """Tell in the program's name why it ends."""
    tell(f"reprieve-watcher: {message}")


def read(limit_bytes: int) -> bytes:
    """Return standard input up to its end, or to so many bytes.

    Raises:
        ConfigError: It is closed, or can't be read.
    """
    try:
        return sys.stdin.buffer.read(limit_bytes)
    except AttributeError as error:  # Python's word for a closed one
        raise ConfigError("standard input is closed") from error
    except OSError as error:
        raise ConfigError(f"standard input: {error.strerror}") from error


def _lost(error: OSError) -> ConfigError:
    # What is left in the buffer would fail again, with a traceback, when the process ends.
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return ConfigError(f"standard output: {error.strerror}")
