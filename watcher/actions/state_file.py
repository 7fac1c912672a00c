"""Keeps on disk what the next run has to know and nobody would say again: ``state.json``.

A queue forgets a message once its notice is acknowledged, and by itself after minutes. A notice
that is planned for days from then, or in force behind a more urgent one, would end with the
process. What a source is asked for again and again, such as a metadata key, is not in the file.

It is not synced and holds for one boot, as the flag does: a run directory is gone after a reboot.
"""

import asyncio
import json
import logging
import os
from collections.abc import Callable, Collection
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from watcher.actions.flag_file import advice
from watcher.actions.notice_fields import (
    DAMAGE,
    boottime_of,
    check_valid,
    fields_of,
    notice_of,
    wall_of,
)
from watcher.actions.reserved_draft import open_new
from watcher.errors import FlagUnreadable
from watcher.notice import Moment, Notice, rfc3339
from watcher.side_thread import SideThread
from watcher.state import State

log = logging.getLogger(__name__)

STATE_NAME = "state.json"
SCHEMA = 1

KEPT_LIMIT = 256
"""Most notices in the file, the most urgent first: a node has few, and none fills the directory."""

STATE_LIMIT_BYTES = 4 * 1024 * 1024
"""Longest file that is read back: so many notices of the longest words there are."""

_DRAFT_NAME = ".state.json.new"
_RETRY_S = 1.0


class StateFile:
    """Keeps the file equal to what is in force and planned of some sources.

    Args:
        run_dir: Where the file is.
        boot_id: The boot for which it holds.
        state: What is in force and planned.
        edges: Sources that say a thing once.
    """

    def __init__(self, run_dir: Path, boot_id: str, state: State, edges: Collection[str]) -> None:
        self._run_dir = run_dir
        self._boot_id = boot_id
        self._state = state
        self._edges = edges
        self._thread = SideThread[str]("state_file")

    async def keep(self, notice: Notice) -> None:
        """Write the file after a change of this notice; returns when that is done.

        As long as it fails nothing may be acknowledged, so it is tried again until it works.
        """
        if notice.source not in self._edges:
            return
        told = ""
        while why := await self._thread.call(self._plan):
            if why != told:
                log.error("state not kept, its messages stay in the queue %s why=%s", notice, why)
            told = why
            await asyncio.sleep(_RETRY_S)

    def _plan(self) -> Callable[[], str]:
        standings = chain(self._state.in_force(), self._state.planned())
        notices = (standing.notice for standing in standings)
        kept = list(islice((one for one in notices if one.source in self._edges), KEPT_LIMIT))
        return partial(self._write, compose(kept, self._boot_id)) if kept else self._remove

    def _write(self, data: bytes) -> str:
        draft = self._run_dir / _DRAFT_NAME
        try:
            with os.fdopen(open_new(draft), "wb") as file:
                file.write(data)
            draft.replace(self._run_dir / STATE_NAME)
        except OSError as error:
            return advice(error)
        return ""

    def _remove(self) -> str:
        try:
            (self._run_dir / STATE_NAME).unlink(missing_ok=True)
        except OSError as error:
            return advice(error)
        return ""


def compose(notices: Collection[Notice], boot_id: str) -> bytes:
    """Return the file for the notices."""
    document = {
        "schema": SCHEMA,
        "boot_id": boot_id,
        "notices": [
            {
                **fields_of(notice),
                "received_at": rfc3339(notice.received.wall),
                "received_boottime_s": notice.received.boottime_s,
            }
            for notice in notices
        ],
    }
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def parse(data: bytes, boot_id: str) -> tuple[Notice, ...]:
    """Return the notices of a file of this boot; one that can't be read takes no other with it.

    Raises:
        FlagUnreadable: It is damaged, of another schema, or of another boot.
    """
    notices, damage = [], ""
    try:
        document = json.loads(data)
        check_valid(document, SCHEMA, boot_id)
        for fields in document["notices"]:
            try:
                notices.append(_notice(fields))
            except DAMAGE as error:
                damage = f"{type(error).__name__}: {error}"[:200]
                log.warning("notice dropped state=%s why=%s", STATE_NAME, damage)
    except DAMAGE as error:
        raise FlagUnreadable(f"{type(error).__name__}: {error}"[:200]) from error
    if damage and not notices:
        raise FlagUnreadable(damage)
    return tuple(notices)


def _notice(fields: dict[str, Any]) -> Notice:
    received = Moment(wall_of(fields["received_at"]), boottime_of(fields["received_boottime_s"]))
    return notice_of(fields, received)
