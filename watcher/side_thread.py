"""Runs blocking calls outside the loop, so that one that hangs holds up nobody else."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


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

    async def call(self, plan: Callable[[], Callable[[], T]]) -> T:
        """Return or raise what the blocking call does that ``plan`` returns.

        ``plan`` runs in the loop once every call before this one has come back, so it sees what is
        true then. A caller that is cancelled leaves its blocking call running; the next one still
        waits for it, because a second one would hang as well, or be overtaken by the first.
        """
        async with self._turn:
            await self._is_idle.wait()
            work = plan()
            loop = asyncio.get_running_loop()
            future: asyncio.Future[T] = loop.create_future()

            def body() -> None:
                settle = _settlement(work, future)
                with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits
                    loop.call_soon_threadsafe(self._is_idle.set)
                    loop.call_soon_threadsafe(settle)

            self._is_idle.clear()
            threading.Thread(target=body, name=self._name, daemon=True).start()
            return await future


def _settlement(work: Callable[[], T], future: asyncio.Future[T]) -> Callable[[], None]:
    """Do the work in this thread; return what tells its outcome to the future, in the loop's."""
    try:
        result = work()
    except Exception as caught:  # noqa: BLE001 - raised again in the caller, by the future
        error = caught
        return lambda: None if future.done() else future.set_exception(error)
    return lambda: None if future.done() else future.set_result(result)
