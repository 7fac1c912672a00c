"""Reading small JSON files that another process wrote, without trusting it."""

import errno
import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import TypeAlias

from trainer_hooks.errors import UntrustedFileError

_OUR_OWN = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}

_UPSETTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, with which escape codes begin, and what turns the direction of writing."""

MAX_DEPTH = 32
"""Deeper nesting than any file of ours has, far below what Python's parser can take."""

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def read_json_object(path: Path, *, max_bytes: int, may_be_linked: bool = False) -> dict[str, Json]:
    """Read one JSON object from a plain file of at most ``max_bytes`` bytes.

    Symbolic links, fifos, devices and directories are refused, and opening never blocks. So are
    files with several hard links, unless they ``may_be_linked``: in a directory that everybody
    can write to, such a link shows us somebody else's file. The text is UTF-8 without a byte
    order mark.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: This process is out of descriptors or memory, which says nothing of the file.
        UntrustedFileError: The file is of another kind, too large, or no JSON object.
    """
    max_links = sys.maxsize if may_be_linked else 1
    return parse_json_object(_read_plain_file(path, max_bytes, max_links), path)


def parse_json_object(text: bytes, path: object) -> dict[str, Json]:
    """Parse one JSON object that was read from ``path``.

    Raises:
        UntrustedFileError: It is none.
    """
    try:
        data = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise UntrustedFileError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise UntrustedFileError(f"{path} holds {type(data).__name__}, not a JSON object")
    if is_deeper(data, MAX_DEPTH):
        raise UntrustedFileError(f"{path} is nested deeper than {MAX_DEPTH} levels")
    return data


def read_plain_file(path: Path, *, max_bytes: int) -> bytes:
    """Read a plain file with one hard link, of at most ``max_bytes`` bytes.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: This process is out of descriptors or memory, which says nothing of the file.
        UntrustedFileError: The file is of another kind, or too large.
    """
    return _read_plain_file(path, max_bytes, 1)


def _read_plain_file(path: Path, max_bytes: int, max_links: int) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _OUR_OWN:
            raise
        raise UntrustedFileError(f"{path} cannot be opened: {error.strerror}") from error
    try:
        _check_plain(path, os.fstat(descriptor), max_links)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise UntrustedFileError(f"{path} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)  # not left to fdopen, which keeps it open when it refuses a directory
    if len(data) > max_bytes:
        raise UntrustedFileError(f"{path} is larger than {max_bytes} bytes")
    return data


def _check_plain(path: Path, found: os.stat_result, max_links: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UntrustedFileError(f"{path} is not a regular file")
    # A writer that renames over the file leaves its old inode with 0 links: that is fine.
    if found.st_nlink > max_links:
        raise UntrustedFileError(f"{path} has {found.st_nlink} hard links")


def in_one_line(text: str) -> str:
    """Escape what a file may hold to upset a terminal, or to look like a line of ours."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shortened(text: str, limit: int = 200) -> str:
    """Leave out the middle of a text that nobody would read to its end, in one line."""
    text = in_one_line(text)
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} ... {text[-half:]}"


def harmless(text: str) -> str:
    """Escape what upsets a terminal, and leave lines, and tabs in them, as they are."""
    return _UPSETTING.sub(lambda found: ascii(found[0])[1:-1], text)


def is_deeper(value: Json, limit: int) -> bool:
    """Tell whether a value is nested in more than ``limit`` levels."""
    if not isinstance(value, (dict, list)):
        return False
    children = value.values() if isinstance(value, dict) else value
    return limit == 0 or any(is_deeper(child, limit - 1) for child in children)
