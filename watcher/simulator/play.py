"""The scenario as it is played: the instance and its metadata service at this moment."""

import asyncio
from collections import deque

from watcher.simulator.changes import Change, FaultsArmed, FaultsLifted
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import Faults
from watcher.simulator.scenario import Scenario


class Play:
    """Passes changes to the part that they are about: the scenario's when due, a tester's now.

    :meth:`catch_up` applies what is due, back-dated to its moment, before each answer. What an
    answer says thus depends on the clock and on nothing else; :meth:`run` is there for those who
    wait for an answer until something changes.
    """

    def __init__(self, scenario: Scenario, clock: ScenarioClock) -> None:
        self.stage = scenario.stage(clock)
        self.faults = Faults(clock, self.stage.root)
        self._clock = clock
        self._pending = deque(scenario.timeline())

    def catch_up(self) -> None:
        """Apply the changes whose moment has come."""
        now_s = self._clock.elapsed_s()
        while self._pending and self._pending[0].at_s <= now_s:
            self._apply(self._pending.popleft())

    def apply(self, change: Change) -> None:
        """Let ``change`` happen now, after those of the scenario that are due.

        Raises:
            ScenarioError: There is nothing for it to end, or no room for its faults.
        """
        self.catch_up()
        match change:
            case FaultsArmed():
                self.faults.refuse(len(change.faults))
            case FaultsLifted():
                pass
            case _:
                self.stage.refuse(change)
        self._apply(change)

    async def run(self) -> None:
        """Apply each change of the scenario at its moment, and return after the last one."""
        while self._pending:
            await asyncio.sleep(self._pending[0].at_s - self._clock.elapsed_s())
            self.catch_up()

    def _apply(self, change: Change) -> None:
        match change:
            case FaultsArmed():
                for fault in change.faults:
                    self.faults.add(fault, change.at_s)
            case FaultsLifted():
                self.faults.clear()
            case _:
                self.stage.apply(change)
