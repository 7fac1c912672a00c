"""A running responder with actions that record their calls, and fail or hang as told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.clocks import TurnedClock
from watcher.actions.base import Action
from watcher.errors import ActionError
from watcher.metrics import Metrics
from watcher.notice import Deadline, Notice, NoticeKind, Standing
from watcher.policy import POLICY, Policy
from watcher.responder import Afterwards, Means, Responder
from watcher.state import ActionRecord, State


class Recorded:
    """An action that notes its calls, and fails or hangs as told."""

    fails_with: ActionError | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[str] = []
        self.may_finish = asyncio.Event()
        self.may_finish.set()

    async def run(self, standing: Standing, /) -> str:
        """Note it."""
        return await self._note("run", standing)

    async def undo(self, standing: Standing, /) -> str:
        """Note it."""
        return await self._note("undo", standing)

    async def _note(self, what: str, standing: Standing) -> str:
        self.calls.append(f"{what} {standing.notice.id}")
        await self.may_finish.wait()
        if self.fails_with is not None:
            raise self.fails_with
        return "ok"


class Desk:
    """A running responder with two recorded actions, or with others given."""

    def __init__(
        self,
        clock: TurnedClock,
        *actions: Action,
        state: State | None = None,
        policy: Policy = POLICY,
    ) -> None:
        self.clock = clock
        self.flag, self.signal = Recorded("flag_file"), Recorded("signal")
        chosen = actions or (self.flag, self.signal)
        self.state, self.metrics = State() if state is None else state, Metrics()
        by_name = {action.name: action for action in chosen}
        self.kept: list[str] = []
        self.may_keep = asyncio.Event()
        self.may_keep.set()
        self.acknowledged: list[str] = []
        self.afterwards = Afterwards(self._keep, lambda notice: self.acknowledged.append(notice.id))
        self.responder = Responder(
            Means(policy, by_name),
            self.state,
            self.metrics,
            clock,
            self.afterwards,
        )
        self.inbox: asyncio.Queue[Notice] = asyncio.Queue()

    async def _keep(self, notice: Notice) -> None:
        await self.may_keep.wait()
        self.kept.append(notice.id)

    def notice(self, name: str = "spot", *, left_s: float = 120) -> Notice:
        """Build a stop notice."""
        return Notice(
            id=name,
            kind=NoticeKind.PREEMPTION,
            source="test",
            received=self.clock(),
            deadline=Deadline.after(self.clock(), left_s),
        )

    def record(self, action: str, notice_id: str = "spot") -> ActionRecord | None:
        """Return what an action has come to for a notice."""
        for entry in self.state.entries():
            if entry.standing.notice.id == notice_id:
                return entry.actions.get(action)
        return None

    def outcome(self, action: str, notice_id: str = "spot") -> str | None:
        """Return the outcome of it."""
        record = self.record(action, notice_id)
        return record.outcome if record else None


@asynccontextmanager
async def running(desk: Desk) -> AsyncIterator[Desk]:
    """Let the responder answer its inbox; a bug in it fails the test."""
    task = asyncio.create_task(desk.responder.run(desk.inbox))
    try:
        yield desk
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def handled(desk: Desk, *notices: Notice) -> None:
    """Put the notices into the inbox and wait until all is done about them."""
    for notice in notices:
        desk.inbox.put_nowait(notice)
    async with asyncio.timeout(20):
        await desk.inbox.join()
