"""The scenario as it is played: the instance and its metadata service at this moment."""

from collections import deque

from watcher.simulator.changes import Change, FaultsArmed, FaultsLifted, TokensExpired
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import Faults
from watcher.simulator.instance import Instance
from watcher.simulator.options import Access, OptionsModified
from watcher.simulator.scenario import Scenario
from watcher.simulator.tokens import Tokens


class Play:
    """Passes changes to the part that they are about: the scenario's when due, a tester's now.

    There is no timer: :meth:`catch_up` applies what is due, back-dated to its moment, before each
    answer. What an answer says thus depends on the clock and on nothing else.
    """

    def __init__(self, scenario: Scenario, clock: ScenarioClock) -> None:
        self.instance = Instance(clock)
        self.access = Access(scenario.options, scenario.hops)
        self.tokens = Tokens(clock, scenario.token_ttl_cap_s)
        self.faults = Faults(clock)
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
            case OptionsModified() | FaultsLifted() | TokensExpired():
                pass
            case _:
                self.instance.refuse(change)
        self._apply(change)

    def _apply(self, change: Change) -> None:
        match change:
            case FaultsArmed():
                for fault in change.faults:
                    self.faults.add(fault, change.at_s)
            case FaultsLifted():
                self.faults.clear()
            case TokensExpired():
                self.tokens.expire_all()
            case OptionsModified():
                self.access.modify(change)
            case _:
                self.instance.apply(change)
