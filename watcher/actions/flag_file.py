"""Writes the flag file ``notice.json``, which tells the trainers on this node what is coming."""

import asyncio
import errno
import logging
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from watcher.actions.flag_v1 import Writer
from watcher.actions.flag_word import FlagWord
from watcher.actions.reserved_draft import ReservedDraft
from watcher.errors import ActionRetryable
from watcher.metrics import Metrics
from watcher.mounts import is_in_memory
from watcher.notice import Moment, Standing
from watcher.side_thread import OnTheSpot, SideThread
from watcher.state import State

log = logging.getLogger(__name__)

FLAG_NAME = "notice.json"
DRAFT_NAME = ".notice.json.new"

LOOK_S = 1.0
"""Seconds between looks at a flag that is in force."""

CLOCK_SET_S = 1.0
"""Seconds by which the wall clock has to leave CLOCK_BOOTTIME to count as set: half of what makes
a trainer doubt the flag's stamps."""

ADVICE = (
    "It has to be a directory that the daemon's user can write, made before the daemon starts "
    "(systemd-tmpfiles, or a hostPath directory in Kubernetes); --run-dir or REPRIEVE_RUN_DIR "
    "names another"
)


class FlagFile:
    """Keeps the flag file equal to what is in force: written, rewritten, and removed at the end.

    Both directions do the same, because the file shows the whole state and not one notice. So a
    retry that comes late can't bring a withdrawn notice back, nor hide a more urgent one.
    """

    name = "flag_file"

    def __init__(
        self,
        run_dir: Path,
        writer: Writer,
        state: State,
        metrics: Metrics,
        now: Callable[[], Moment],
    ) -> None:
        self._run_dir = run_dir
        self.word = FlagWord(writer, state, now)
        """What is written; others may pass it on as well."""
        self._metrics = metrics
        self._now = now
        self._written: Moment | None = None
        # On a machine whose cores are all taken, to start a thread is most of what a flag takes.
        self._writing = OnTheSpot[str]() if is_in_memory(run_dir) else SideThread[str](self.name)
        self._draft = ReservedDraft(run_dir / DRAFT_NAME)

    async def run(self, _standing: Standing, /) -> str:
        """Write the flag file for all that is in force; see :class:`base.Action`.

        Raises:
            ActionRetryable: The run directory can't be written at the moment.
        """
        return await self._bring_up_to_date()

    async def undo(self, standing: Standing, /) -> str:
        """Write the flag file for what is still in force, or remove it; raises as run does."""
        return await self.run(standing)

    async def keep(self) -> None:
        """Write the flag again within a second where it has come to tell less; never returns.

        Somebody may remove it, or make the run directory anew. And when the wall clock is set,
        readers believe only that one, because the flag's stamps agree with theirs no more.
        """
        told = ""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                if why := await self._amiss():
                    await self._bring_up_to_date()
            except ActionRetryable as error:
                why = str(error)
            if why not in ("", told):
                log.warning("flag amiss, it is written again why=%s", why)
            told = why

    async def _bring_up_to_date(self) -> str:
        self.word.renew()  # first: where the disk hangs, it is told over HTTP all the same
        what = await self._writing.call(self._plan)
        self._metrics.flag_written.set(self._written.wall.timestamp() if self._written else 0.0)
        return what

    async def _amiss(self) -> str:
        """Return what is wrong with the flag that was written, if anything is."""
        if (written := self._written) is None:
            return ""
        now = self._now()
        by_wall_s = (now.wall - written.wall).total_seconds()
        set_by_s = by_wall_s - (now.boottime_s - written.boottime_s)
        if abs(set_by_s) > CLOCK_SET_S:
            return f"the wall clock was set by {set_by_s:.0f} s"
        # The plan is made in turn: by then it may be we who have removed it.
        return await self._writing.call(lambda: self._look if self._written else str)

    def _look(self) -> str:
        flag = self._run_dir / FLAG_NAME
        return "" if os.path.lexists(flag) else "somebody has removed it"

    def _plan(self) -> Callable[[], str]:
        word = self.word.current()
        if word.flag is None:
            self._written = None
            return self._remove
        self._written = word.said
        return partial(self._write, word.flag)

    def _write(self, data: bytes) -> str:
        try:
            self._draft.replace(self._run_dir / FLAG_NAME, data)
        except OSError as error:
            raise ActionRetryable(f"can't write the flag file: {advice(error)}") from error
        return f"wrote {self._run_dir / FLAG_NAME}"

    def _remove(self) -> str:
        try:
            (self._run_dir / FLAG_NAME).unlink(missing_ok=True)
        except OSError as error:
            raise ActionRetryable(f"can't remove the flag file: {advice(error)}") from error
        return f"removed {self._run_dir / FLAG_NAME}"


def advice(error: OSError) -> str:
    """Return what the system said about which path, and what a person can do about it."""
    path = error.filename2 or error.filename or "the run directory"  # a failed write names none
    if error.errno == errno.EISDIR:
        return f"{path}: is a directory where the daemon puts a file. Remove it"
    return f"{path}: {error.strerror}. {ADVICE}"
