"""A teller that does what the test says, and an action that lets it tell."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from watcher.actions.aside import Aside
from watcher.actions.news import News
from watcher.errors import ActionRefused


class Scripted:
    """A teller that notes what it is to tell, and then fails, hangs or succeeds as told."""

    where = "the test"
    is_unfit = False

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.fails_with: list[Exception] = []
        self.may_go = asyncio.Event()
        self.may_go.set()

    async def check(self) -> None:
        """Fail if told so."""
        if self.is_unfit:
            raise ActionRefused("it lacks its file")

    async def tell(self, news: News, /) -> str:
        """Note it."""
        self.heard.append(f"{news.state} {news.standing.notice.id}")
        await self.may_go.wait()
        if self.fails_with:
            raise self.fails_with.pop(0)
        return "heard"


@asynccontextmanager
async def kept(action: Aside) -> AsyncIterator[None]:
    """Let it tell in the block."""
    task = asyncio.create_task(action.keep())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
