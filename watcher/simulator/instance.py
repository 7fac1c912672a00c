"""The simulated Spot instance: what EC2 says of it at this moment."""

import logging
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from watcher.simulator.clock import ScenarioClock
from watcher.simulator.scenario import (
    Change,
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    Scenario,
    ScenarioError,
    SpotAction,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SpotMark:
    """A notice in force. ``time`` was fixed when it was issued and never slides."""

    action: SpotAction
    time: str


class Instance:
    """Goes through the scenario's changes as the clock reaches them, and through a tester's.

    There is no timer: changes that are due are applied, back-dated to their moment, when
    somebody looks. What an answer says thus depends on the clock and on nothing else.
    """

    def __init__(self, scenario: Scenario, clock: ScenarioClock) -> None:
        self._clock = clock
        self._pending = deque(scenario.timeline())
        self._mark: SpotMark | None = None
        self._rebalance_time: str | None = None

    def mark(self) -> SpotMark | None:
        """Return the notice in force, if any."""
        self._apply_due()
        return self._mark

    def rebalance_time(self) -> str | None:
        """Return when a rebalance was recommended, if it was."""
        self._apply_due()
        return self._rebalance_time

    def apply(self, change: Change) -> None:
        """Let ``change`` happen now, after those of the scenario that are due.

        Raises:
            ScenarioError: It withdraws a notice while none is in force.
        """
        self._apply_due()
        if isinstance(change, NoticeWithdrawn) and self._mark is None:
            raise ScenarioError("no notice is in force, so none to withdraw")
        self._apply(change)

    def _apply_due(self) -> None:
        now_s = self._clock.elapsed_s()
        while self._pending and self._pending[0].at_s <= now_s:
            self._apply(self._pending.popleft())

    def _apply(self, change: Change) -> None:
        happened = self._clock.wall_time_at(change.at_s)
        match change:
            case NoticeIssued():
                ends = happened + timedelta(seconds=change.window_s)
                self._mark = SpotMark(change.action, whole_seconds(ends))
                log.info("notice issued action=%s time=%s", change.action, self._mark.time)
            case NoticeWithdrawn():
                self._mark = None
                log.info("notice withdrawn")
            case RebalanceRecommended():
                self._rebalance_time = whole_seconds(happened)
                log.info("rebalance recommended noticeTime=%s", self._rebalance_time)


def whole_seconds(moment: datetime) -> str:
    """Write ``moment`` as EC2 does: UTC, whole seconds, Z.

    Cut, not rounded: a notice must not promise time that is not there.
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
