"""Actions that are only said, and what is shown of them."""

import asyncio

from tests.support.clocks import TurnedClock
from tests.support.responding import Desk, Recorded, handled, running
from watcher.actions.dry_run import DryRun


async def test_action_is_not_done_when_it_is_a_dry_run() -> None:
    """Neither done nor undone; the outcome is dry_run, once, and no failure."""
    clock, real = TurnedClock(), Recorded("flag_file")
    desk = Desk(clock, DryRun(real))
    async with running(desk), asyncio.timeout(20):
        await handled(desk, desk.notice())
        record = desk.record("flag_file")
        assert record is not None
        assert (record.outcome, record.attempts) == ("dry_run", 1)
        assert record.what == "flag_file would be done now"
    assert real.calls == []
    counted = desk.metrics.actions.labels("flag_file", "dry_run")
    assert counted._value.get() == 1
