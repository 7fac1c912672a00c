"""Looks at a job through what it and the watcher leave in the run directory."""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

from watcher.actions.flag_file import FLAG_NAME
from watcher.drill.node import Process
from watcher.process import boot_id
from watcher.trainers import Trainer, read_trainers

LOOK_S = 0.02


@dataclass
class Watching:
    """What has been seen of one run of the job so far."""

    run_dir: Path
    process: Process
    trainer: Trainer | None = None
    """Its newest word: that of the trainer that is furthest, where there are several."""
    first_step: int | None = None
    """The first step above 0 that it has told of."""
    flag_at: float | None = None
    """When the flag was written, in seconds of Unix time."""
    ended_at: float | None = None
    _boot_id: str = field(default_factory=boot_id)

    def look(self) -> bool:
        """Look once, and return whether the job still runs."""
        if self.flag_at is None:
            try:
                self.flag_at = (self.run_dir / FLAG_NAME).stat().st_mtime
            except OSError:
                self.flag_at = None
        is_running = self.process.returncode is None
        for trainer in read_trainers(self.run_dir, self._boot_id).found:
            if self.trainer is None or trainer.step >= self.trainer.step:
                self.trainer = trainer
        if self.first_step is None and self.trainer is not None and self.trainer.step > 0:
            self.first_step = self.trainer.step
        if not is_running and self.ended_at is None:
            self.ended_at = time.time()
        return is_running

    @property
    def committed_step(self) -> int | None:
        """The newest checkpoint that the job has told of."""
        return self.trainer.committed_step if self.trainer else None

    async def until_committed(self, limit_s: float) -> bool:
        """Return whether a first checkpoint was seen in that time; sooner if the job ends."""
        end = time.monotonic() + limit_s
        while self.look() and time.monotonic() < end:
            if self.committed_step is not None:
                return True
            await asyncio.sleep(LOOK_S)
        return False

    async def until_past(self, step: int, limit_s: float) -> bool:
        """Return whether it was seen to finish a later step in that time."""
        end = time.monotonic() + limit_s
        while self.look() and time.monotonic() < end:
            if self.trainer is not None and self.trainer.step > step:
                return True
            await asyncio.sleep(LOOK_S)
        return False

    async def until_ended(self, limit_s: float) -> None:
        """Return when the job has ended, or after that time."""
        end = time.monotonic() + limit_s
        while self.look() and time.monotonic() < end:  # noqa: ASYNC110 - files, and no event
            await asyncio.sleep(LOOK_S)
