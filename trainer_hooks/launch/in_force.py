"""What forbids a start: a stop notice in force on this node, by the flag file or by its watcher."""

import logging
from collections.abc import Iterator

from trainer_hooks.errors import FlagError, NoticeUnknownError
from trainer_hooks.flag import FLAG_NAME, UNREADABLE, StopNotice, read_flag, run_directory
from trainer_hooks.notice_url import ask, notice_url

log = logging.getLogger(__name__)


def stop_in_force() -> StopNotice | None:
    """Return the notice that forbids a start; blocks for seconds where the watcher hangs.

    Raises:
        ConfigError: ``REPRIEVE_NOTICE_URL`` is no URL.
    """
    for notice in _heard():
        if not notice.is_stop:
            continue
        if not notice.is_overdue:
            return notice
        log.warning(
            "notice %s is long past its deadline and this node still lives: starting all the same",
            notice.id,
        )
    return None


def _heard() -> Iterator[StopNotice]:
    for notice in (_in_flag, _told):
        if (heard := notice()) is not None:
            yield heard


def _in_flag() -> StopNotice | None:
    try:
        return read_flag(run_directory() / FLAG_NAME)
    except (FlagError, OSError) as error:
        log.error("flag file taken as a stop: %s", error)  # noqa: TRY400 - the message is whole
        return UNREADABLE


def _told() -> StopNotice | None:
    """Ask the watcher, if one is named. Where it does not answer, the ranks go on asking."""
    url = notice_url()
    if url is None:
        return None
    try:
        return ask(url, None, 0.0).notice()
    except NoticeUnknownError as error:
        log.warning("starting without knowing whether a notice is in force: %s", error)
        return None
    except FlagError as error:
        log.error("watcher's answer taken as a stop: %s", error)  # noqa: TRY400 - as above
        return UNREADABLE
