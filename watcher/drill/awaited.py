"""Waits for a drill that somebody else begins, as by the annotation of this machine's Node."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from watcher.actions.flag_file import FLAG_NAME
from watcher.actions.flag_start import read_file
from watcher.actions.flag_v1 import parse
from watcher.errors import FlagUnreadable, StartFailed
from watcher.notice import Notice, NoticeKind

LOOK_S = 0.05
_FLAG_LIMIT_BYTES = 256 * 1024


async def awaited(
    run_dir: Path, boot_id: str, limit_s: float, meanwhile: Callable[[], object]
) -> Notice:
    """Return the drill that is in force, calling ``meanwhile`` after each look that finds none.

    Raises:
        StartFailed: None was begun in that time.
    """
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        notice = _in_force(run_dir, boot_id)
        if notice is not None and notice.kind is NoticeKind.DRILL:
            return notice
        meanwhile()
        await asyncio.sleep(LOOK_S)
    raise StartFailed(
        f"no drill was begun within {limit_s:g} s; if somebody has tried to, the daemon's log says "
        "why it refused (kubernetes.drill has to be on)"
    )


def _in_force(run_dir: Path, boot_id: str) -> Notice | None:
    try:
        return parse(read_file(run_dir / FLAG_NAME, _FLAG_LIMIT_BYTES), boot_id)
    except (OSError, FlagUnreadable):
        return None  # not there, or about to be replaced
