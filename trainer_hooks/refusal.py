"""Why a rank could not begin, or go on: in its own log, and left for the launcher's last line."""

import logging
import os
import sysconfig
import traceback
from pathlib import Path

from trainer_hooks.errors import UntrustedFileError
from trainer_hooks.results import RESULT_DIR_VARIABLE
from trainer_hooks.untrusted import read_plain_file, shortened

log = logging.getLogger(__name__)

_PATHS = sysconfig.get_paths()
_NOT_THE_USERS = ("<", str(Path(__file__).parent), *(_PATHS[p] for p in ("stdlib", "purelib")))
_LIMIT = 600
"""Characters of a reason that the launcher repeats."""

_MAX_BYTES = 64 * 1024
"""A reason is a line; the user's own message is in it, whatever that holds."""


def say_why(error: BaseException) -> None:
    """Say what is wrong with the set-up, and where in the user's program, in one line.

    The message says what to do; a traceback would lead through our own files, once for each rank.
    """
    said = f"{type(error).__name__}: {error}{_place_of(error)}"
    log.error("%s", said)
    directory = os.environ.get(RESULT_DIR_VARIABLE)
    if directory:
        try:
            _leave(Path(directory), said)
        except OSError as fault:
            log.warning("the launcher cannot be told why: %s", fault)


def first_refusal(directory: Path) -> str | None:
    """Return what the first of this node's ranks that was refused has said; None if none was."""
    for path in sorted(directory.glob("local_rank_*.refusal")):
        try:
            said = read_plain_file(path, max_bytes=_MAX_BYTES)
        except (OSError, UntrustedFileError) as fault:  # it is no reason to end otherwise
            return shortened(f"{path.name} cannot be read: {fault}", _LIMIT)
        return shortened(said.decode(errors="replace").strip(), _LIMIT)
    return None


def _leave(directory: Path, said: str) -> None:
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    path = directory / f"local_rank_{local_rank:03d}.refusal"
    temporary = path.with_suffix(".part")
    text = f"rank {os.environ.get('RANK', '0')}: {shortened(said, _LIMIT)}\n"
    temporary.write_text(text, encoding="utf-8", errors="replace")
    temporary.replace(path)


def _place_of(error: BaseException) -> str:
    """Return the line of the user's program that led here, by the innermost frame that has one."""
    # A traceback begins where it was caught, perhaps within ours; who called that is on the stack.
    frames = [*traceback.extract_stack(), *traceback.extract_tb(error.__traceback__)]
    for frame in reversed(frames):
        if not frame.filename.startswith(_NOT_THE_USERS):
            return f" ({frame.filename}:{frame.lineno})"
    return ""
