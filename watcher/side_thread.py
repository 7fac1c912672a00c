"""Runs blocking calls outside the loop, so that one that hangs holds up nobody else.

Those that can't hang are better off in it: a thread is one more that waits for a core.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

_NO_THREAD_WAIT_S = 0.1
"""Seconds between attempts to start a thread where the system allows no more of them."""


class OnTheSpot(Generic[T]):
    """One owner's short calls, each done at once where it is asked for; has the same face."""

    async def call(self, plan: Callable[[], Callable[[], T]]) -> T:
        """Return or raise what the call does that ``plan`` returns."""
        return _at_once(plan())


class SideThread(Generic[T]):
    """One owner's blocking calls, one at a time, each in a daemon thread.

    Not the loop's thread pool: all owners would share it, and a few calls that hang on a dead
    file system would stop every one of them. A daemon thread can be left behind at exit.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._turn = asyncio.Lock()
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    @property
    def is_idle(self) -> bool:
        """Whether no blocking call is under way, not even one whose caller has gone."""
        return self._is_idle.is_set()

    async def call(self, plan: Callable[[], Callable[[], T]]) -> T:
        """Return or raise what the blocking call does that ``plan`` returns.

        ``plan`` runs in the loop once every call before this one has come back, so it sees what is
        true then. A caller that is cancelled leaves its blocking call running; the next one still
        waits for it, because a second one would hang as well, or be overtaken by the first.
        Where the system allows no more threads (pids.max, ulimit -u), it waits until it does.
        """
        async with self._turn:
            await self._is_idle.wait()
            attempts = 0
            while (future := self._start(plan())) is None:
                if attempts == 0:
                    log.error("no thread name=%s why=the system allows no more of them", self._name)
                attempts += 1
                await asyncio.sleep(_NO_THREAD_WAIT_S)
            return await future

    def _start(self, work: Callable[[], T]) -> asyncio.Future[T] | None:
        """Return what the work will come to; None when there is no thread for it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def body() -> None:
            settle = _settlement(work, future)
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits
                loop.call_soon_threadsafe(self._is_idle.set)
                loop.call_soon_threadsafe(settle)

        self._is_idle.clear()
        try:
            threading.Thread(target=body, name=self._name, daemon=True).start()
        except RuntimeError:
            self._is_idle.set()
            return None
        return future


def _settlement(work: Callable[[], T], future: asyncio.Future[T]) -> Callable[[], None]:
    """Do the work in this thread; return what tells its outcome to the future, in the loop's."""
    try:
        result = work()
    except Exception as caught:  # noqa: BLE001 - raised again in the caller, by the future
        error = caught
        return lambda: None if future.done() else future.set_exception(error)
    return lambda: None if future.done() else future.set_result(result)


def _at_once(work: Callable[[], T]) -> T:
    return work()
