"""A watcher's own /v1/notice in a thread of the test, without the rest of the daemon."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.waiting import wait_until
from watcher.actions.flag_v1 import Writer
from watcher.actions.flag_word import FlagWord
from watcher.config import Address
from watcher.faces.notice_face import PATH, NoticeFace
from watcher.faces.server import keep_serving
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.policy import stand
from watcher.process import now
from watcher.state import State


class TellingWatcher:
    """Says over HTTP what the test puts in force."""

    def __init__(self, boot_id: str, port: int = 0) -> None:
        self.url = ""
        self.state = State()
        self.word = FlagWord(Writer("node-a", boot_id), self.state, now)
        self.face = NoticeFace(self.word, self.state, (), (), now)
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="telling-watcher")
        self._serving: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many clients wait for news."""
        return self.face._waiting

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def admit(self, notice_id: str, *, is_stop: bool = True, left_s: float = 120.0) -> None:
        """Put a notice in force."""
        kind = NoticeKind.PREEMPTION if is_stop else NoticeKind.REBALANCE
        seen = now()
        deadline = Deadline.after(seen, left_s)
        notice = Notice(id=notice_id, kind=kind, source="aws", received=seen, deadline=deadline)
        self._in_loop(lambda: self.state.admit(stand(notice), seen))

    def retire(self, notice_id: str) -> None:
        """Take it out of force."""
        found = (one.standing.notice for one in self.state.entries())
        notice = next(one for one in found if one.id == notice_id)
        self._in_loop(lambda: self.state.retire(notice, now()))

    def _in_loop(self, change: Callable[[], object]) -> None:
        done = threading.Event()

        def act() -> None:
            change()
            self.word.renew()
            done.set()

        self._loop.call_soon_threadsafe(act)
        assert done.wait(20)

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()
        wait_until(lambda: self.url)

    def stop(self) -> None:
        """Serve no more, as a daemon that was killed."""
        if self._serving is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._keep_serving())

    async def _keep_serving(self) -> None:
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        address, routes = Address("127.0.0.1", self._port), {PATH: self.face.notice}
        self._serving = asyncio.create_task(keep_serving(routes, address, bound))
        self.url = await bound
        await asyncio.gather(self._serving, return_exceptions=True)
        await self._hang_up()

    async def _hang_up(self) -> None:
        """End the connections that were being taken as it ended: nobody knew of them yet.

        They would be collected as unclosed ones within any other test.
        """
        for _ in range(5):
            await asyncio.sleep(0)
        for transport in list(self._loop._transports.values()):  # type: ignore[attr-defined]  # the loop's own list
            transport.abort()
        await asyncio.sleep(0)


@contextmanager
def telling_watcher(boot_id: str, port: int = 0) -> Iterator[TellingWatcher]:
    """Serve inside the block."""
    watcher = TellingWatcher(boot_id, port)
    watcher.start()
    try:
        yield watcher
    finally:
        watcher.stop()
