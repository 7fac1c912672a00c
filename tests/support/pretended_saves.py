"""Saves of a rank that has nothing to save: they take their time, and need every rank."""

import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace

import torch.distributed as dist

from trainer_hooks.clock import boottime_s
from trainer_hooks.flush import Gone
from trainer_hooks.world import Store


class PeerLostError(Exception):
    """Some rank did not come to a collective."""


class Meeting:
    """Where a collective is in the real thing: nobody passes before all have come."""

    def __init__(self, store: Store, size: int, limit_s: float) -> None:
        self._store, self._size = store, size
        self._limit = timedelta(seconds=limit_s)
        self._lost: str | None = None

    def meet(self, where: str) -> None:
        """Wait for all.

        Raises:
            PeerLostError: Some do not come, or the Store is gone.
        """
        if self._lost is not None:  # as a gloo group that has lost a rank: for good
            raise PeerLostError(self._lost)
        try:
            if self._store.add(f"meet/{where}", 1) == self._size:
                self._store.set(f"meet/{where}/all", "1")
            self._store.wait([f"meet/{where}/all"], self._limit)
        except dist.DistError as error:
            self._lost = f"at {where}: {str(error).splitlines()[0]}"
            raise PeerLostError(self._lost) from error


class PretendedSaves:
    """Saves as the run sees them: in flight for a while, and committed if all ranks have begun."""

    def __init__(self, every_steps: int, save_s: float, meeting: Meeting) -> None:
        self.every_steps, self._save_s, self._meeting = every_steps, save_s, meeting
        self._began_s: float | None = None
        self._last = self.resumed_step = 0
        self._thread = threading.Thread()
        self._took_s: deque[float] = deque(maxlen=8)
        self.committed_step: int | None = None
        self.committed_at: float | None = None
        self.failure: str | None = None
        self.failed_in_a_row = 0
        self.last_save_s = (None, None)
        self.attempt = SimpleNamespace(number=1)
        self.verified = SimpleNamespace(at=None)

    @property
    def is_saving(self) -> bool:
        """True while a save is in flight."""
        return self._began_s is not None

    @property
    def took_s(self) -> tuple[float, ...]:
        """Seconds that the last saves took."""
        return tuple(self._took_s)

    @property
    def in_flight_s(self) -> float | None:
        """Seconds since the save in flight began."""
        began_s = self._began_s
        return None if began_s is None else time.monotonic() - began_s

    def is_kept(self, step: int) -> bool:
        """Tell whether nothing of the state would be lost."""
        return step in (self.committed_step, 0)

    def begin(self) -> None:
        """Restore nothing."""

    def save_if_due(self, step: int) -> None:
        """Save if the interval is over."""
        if step and step % self.every_steps == 0:
            self.save(step)

    def save(self, step: int) -> None:
        """Begin a save once none is in flight."""
        if step == self._last:
            return
        self.wait(lambda: None)
        self._last, self._began_s = step, time.monotonic()
        print(f"SAVE step={step}", flush=True)  # noqa: T201 - read back by the verdict
        threading.Thread(target=self._commit, args=(step, self._began_s), daemon=True).start()

    def wait(self, limit_s: Callable[[], float | None]) -> bool:
        """Wait until no save is in flight, or the limit has passed."""
        while self.is_saving:
            limit = limit_s()
            if limit is not None and boottime_s() >= limit:
                return False
            time.sleep(0.002)
        return True

    def flush(self, limit_s: Callable[[], float | None], _gone: Gone | None) -> bool:
        """Wait at the end; nobody has to hear of these saves from the Store."""
        return self.wait(limit_s)

    def hurry(self, *, is_hurried: bool) -> None:
        """Have nothing to delete."""

    def note_survived(self) -> None:
        """Have resumed from nothing."""

    def close(self, *, is_flushed: bool) -> None:
        """Hold nothing."""

    def _commit(self, step: int, began_s: float) -> None:
        try:
            self._meeting.meet(f"save/{step}")
            time.sleep(self._save_s)
            self.committed_step, self.committed_at = step, time.time()
            self._took_s.append(time.monotonic() - began_s)
        except PeerLostError as error:
            self.failure = str(error)
            print(f"SAVE FAILED {error}", flush=True)  # noqa: T201 - read back by the verdict
        self._began_s = None
