"""Looks at what the trainers say without holding up the loop, and says so where it can't."""

import asyncio
import logging
from functools import partial
from pathlib import Path

from watcher.side_thread import SideThread
from watcher.trainers import Trainers, read_trainers

log = logging.getLogger(__name__)

LOOK_LIMIT_S = 1.0
"""Longest that a look is waited for; the directory is in memory, unless somebody has erred."""


class TrainerLook:
    """Reads the trainers' files; call it for what they say now.

    Args:
        run_dir: The run directory.
        boot_id: This boot's.
    """

    def __init__(self, run_dir: Path, boot_id: str) -> None:
        self._run_dir = run_dir
        self._read = partial(read_trainers, run_dir, boot_id)
        self._thread = SideThread[Trainers]("trainers")
        self._told: frozenset[tuple[str, str]] = frozenset()

    async def __call__(self) -> Trainers:
        """Return what the trainers say; what could not be read in time is unknown."""
        try:
            async with asyncio.timeout(LOOK_LIMIT_S):
                trainers = await self._thread.call(lambda: self._read)
        except TimeoutError:
            return Trainers(unknown=f"{self._run_dir} has not been read within {LOOK_LIMIT_S} s")
        refused = frozenset(trainers.refused.items())
        for name, why in sorted(refused - self._told):
            log.warning("trainer's word refused file=%s why=%s", name, why)
        self._told = refused
        return trainers
