"""When the responder tells a source that all is done, and what an action may put off."""

import asyncio

from tests.support.clocks import TurnedClock, eventually
from tests.support.responding import Desk, handled, running
from watcher.errors import ActionRefused, ActionWaiting


async def test_notice_is_acknowledged_only_when_every_action_has_ended(clock: TurnedClock) -> None:
    """A queue may forget it no sooner; which way an action ended does not matter."""
    async with running(Desk(clock)) as desk:
        desk.flag.may_finish.clear()
        desk.signal.fails_with = ActionRefused("may not")
        desk.inbox.put_nowait(desk.notice())
        await eventually(lambda: desk.outcome("signal") == "refused")
        assert desk.acknowledged == []
        desk.flag.may_finish.set()
        async with asyncio.timeout(20):
            await desk.inbox.join()
        assert desk.acknowledged == ["spot"]


async def test_duplicate_is_not_acknowledged_again_when_the_first_was(clock: TurnedClock) -> None:
    """The first one's acknowledgement is for all that say the same."""
    async with running(Desk(clock)) as desk:
        await handled(desk, desk.notice(), desk.notice())
        assert desk.acknowledged == ["spot"]


async def test_action_is_asked_again_when_its_time_has_not_come(clock: TurnedClock) -> None:
    """Waiting is neither a failure nor the end, and outlasts the time that a failure has."""
    async with running(Desk(clock)) as desk:
        desk.signal.fails_with = ActionWaiting("waits until noon")
        desk.inbox.put_nowait(desk.notice(left_s=0))
        await eventually(lambda: desk.outcome("signal") == "waiting")
        clock.turn(3600)
        asked = len(desk.signal.calls)
        await eventually(lambda: len(desk.signal.calls) > asked + 1)
        assert desk.acknowledged == []
        desk.signal.fails_with = None
        await eventually(lambda: desk.acknowledged)
        record = desk.record("signal")
        assert record is not None
        assert record.outcome == "done"
