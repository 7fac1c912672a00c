"""Ranks as threads of one process: they share a Store in memory and no collective."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from torch.distributed import DistNetworkError, HashStore

from tests.support.waiting import wait_until
from trainer_hooks.agreement import StepAgreement
from trainer_hooks.clock import boottime_s
from trainer_hooks.decision import RESTORING, Outcome
from trainer_hooks.errors import AgreementError
from trainer_hooks.flag import StopNotice
from trainer_hooks.world import Store, World

if TYPE_CHECKING:
    from trainer_hooks.at_stop import Figures


def notice(name: str, *, is_stop: bool = True, left_s: float | None = 60.0) -> StopNotice:
    """Return a notice with a deadline ``left_s`` from now."""
    deadline_s = None if left_s is None else boottime_s() + left_s
    return StopNotice(id=name, is_stop=is_stop, deadline_s=deadline_s, source="test")


class FaultyStore:
    """One rank's connection to the shared Store, which can break, and be held up on the way."""

    def __init__(self, inner: HashStore) -> None:
        self._inner: Any = inner  # torch's stubs lack half of a Store
        self.is_broken = threading.Event()
        self.hold: Callable[[str, str], None] = lambda _operation, _key: None
        """Called with each operation and its key, before it is done."""

    def wait(self, keys: list[str], timeout: timedelta) -> None:
        """Wait in slices, so that a connection can break under a waiting thread."""
        self.hold("wait", keys[0])
        end = time.monotonic() + timeout.total_seconds()
        while not all(self._inner.check([key]) for key in keys):
            if time.monotonic() > end:
                self._inner.wait(keys, timedelta(milliseconds=1))  # says it in the Store's words
            self._check()
            time.sleep(0.001)

    def set(self, key: str, value: str) -> None:
        """Write a value."""
        self.hold("set", key)
        self._check()
        self._inner.set(key, value)

    def get(self, key: str) -> bytes:
        """Read a value."""
        self.hold("get", key)
        self._check()
        return bytes(self._inner.get(key))

    def add(self, key: str, amount: int) -> int:
        """Add to a counter."""
        self.hold("add", key)
        self._check()
        return int(self._inner.add(key, amount))

    def append(self, key: str, value: str) -> None:
        """Append to a value."""
        self.hold("append", key)
        self._check()
        self._inner.append(key, value)

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Write if the value is as expected."""
        self.hold("compare_set", key)
        self._check()
        return bytes(self._inner.compare_set(key, expected, desired))

    def _check(self) -> None:
        if self.is_broken.is_set():
            raise DistNetworkError("connection reset by the test")


class Rank:
    """One rank: an agreement, and a thread that trains as TrainerHooks does."""

    def __init__(self, number: int, size: int, store: HashStore) -> None:
        self.store = FaultyStore(store)
        self.notice: StopNotice | None = None
        self.figures: Figures | None = None
        self.agreement = StepAgreement(
            World(rank=number, size=size, store=cast("Store", self.store), group=None),
            lambda: self.notice,
            self._note_change,
            lambda: self.figures,
        )
        self.changes: list[tuple[Outcome | None, float | None]] = []
        """What was told when the stop may have changed, and the deadline then."""
        self.until = 100_000
        self.step_s = 0.001
        self.step = RESTORING.step
        """The boundary passed last."""
        self.saved: list[int] = []
        self.stopped_at: int | None = None
        self.error: AgreementError | None = None
        self.in_step: Callable[[int], None] = lambda _step: None
        self._thread = threading.Thread(target=self._train, daemon=True)

    def start(self) -> None:
        """Join and train."""
        self._thread.start()

    def tell(self, news: StopNotice | None) -> None:
        """Let this rank's listener hear, or hear no more, of a notice."""
        self.notice = news
        self.agreement.notify()

    @property
    def has_ended(self) -> bool:
        """True once it has stopped, finished or failed."""
        return not self._thread.is_alive()

    def _note_change(self) -> None:
        stop = self.agreement.stop
        outcome = None if stop is None else stop.outcome
        self.changes.append((outcome, self.agreement.deadline_s))

    def _train(self) -> None:
        try:
            self.agreement.start()
            step = RESTORING.step
            while not self._is_stopped_at(step):
                if step >= self.until:
                    return
                self.in_step(step)
                time.sleep(self.step_s)
                step += 1
        except AgreementError as error:
            self.error = error

    def _is_stopped_at(self, step: int) -> bool:
        while (decision := self.agreement.reached(step)) is not None:
            if decision.outcome is Outcome.STOP:
                self.stopped_at = step
                return True
            self.saved.append(step)
        self.step = step
        return False


@contextmanager
def ranks(size: int) -> Iterator[list[Rank]]:
    """Make ranks that are not started yet; close their agreements in the end."""
    store = HashStore()
    world = [Rank(number, size, store) for number in range(size)]
    yield world
    for rank in world:
        rank.agreement.close()


def start(world: Sequence[Rank], seed: int | None = None) -> None:
    """Start all; with a seed, at step times that differ up to four times."""
    if seed is not None:
        print(f"step times from seed {seed}")  # noqa: T201 - to find a failure again
        times = random.Random(seed)  # noqa: S311 - no secret
        for rank in world:
            rank.step_s = 0.001 * times.uniform(1, 4)
    for rank in world:
        rank.start()


def wait_for_step(world: Sequence[Rank], step: int) -> None:
    """Wait until all have passed the boundary before ``step``."""
    wait_until(lambda: all(rank.step >= step for rank in world))


def wait_for_end(world: Sequence[Rank]) -> None:
    """Wait until none trains any more."""
    wait_until(lambda: all(rank.has_ended for rank in world))


def rounds(world: Sequence[Rank]) -> list[int]:
    """Return how many rounds each rank has seen to their end."""
    return [rank.agreement._round for rank in world]


def stop_step(world: Sequence[Rank]) -> int:
    """Return the step at which all have stopped, the same one."""
    wait_for_end(world)
    steps = {rank.stopped_at for rank in world}
    assert len(steps) == 1, steps
    step = steps.pop()
    assert step is not None
    return step
