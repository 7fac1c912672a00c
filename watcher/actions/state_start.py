"""What a start does about the state that an earlier run has left."""

import logging
from collections.abc import Collection, Mapping
from pathlib import Path

from watcher.actions.flag_start import (
    PASSING,
    at_start,
    check_heard,
    check_source,
    discard,
    read_file,
)
from watcher.actions.state_file import STATE_LIMIT_BYTES, STATE_NAME, parse
from watcher.errors import FlagUnreadable
from watcher.notice import Notice, NoticeKind

log = logging.getLogger(__name__)


def adopt_state(
    run_dir: Path,
    boot_id: str,
    sources: Mapping[str, Collection[NoticeKind]],
    unheard: Collection[str] = (),
) -> tuple[Notice, ...]:
    """Return the notices that an earlier run has kept; blocks, for use at start.

    A file that is void (of another boot) or can't be understood is removed, and a notice that none
    of the ``sources`` tells of is left out, because nobody would ever withdraw it.

    Raises:
        ConfigError: The file can be neither read nor removed.
        StartFailed: It can't be at the moment, or it holds a notice of an unheard source.
    """
    path = run_dir / STATE_NAME
    try:
        left = parse(read_file(path, STATE_LIMIT_BYTES), boot_id)
    except FileNotFoundError:
        return ()
    except (FlagUnreadable, OSError) as error:
        if isinstance(error, OSError) and error.errno in PASSING:
            raise at_start("the state can't be read", error) from error
        discard("state", path, str(error))
        return ()
    for notice in left:
        check_heard(notice, unheard, path)
    return tuple(notice for notice in left if _is_told(notice, sources))


def _is_told(notice: Notice, sources: Mapping[str, Collection[NoticeKind]]) -> bool:
    try:
        check_source(notice, sources)
    except FlagUnreadable as error:
        log.warning("notice dropped %s why=%s", notice, error)
        return False
    return True
