"""The simulated instance: what EC2 says of it at this moment."""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from watcher.simulator.aws.changes import (
    MaintenanceEnded,
    MaintenanceScheduled,
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    SpotAction,
    TargetStateSet,
)
from watcher.simulator.aws.maintenance import Maintenance
from watcher.simulator.changes import Change
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.values import ScenarioError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SpotMark:
    """A notice in force, as `spot/instance-action` has it."""

    action: SpotAction
    time: str


@dataclass(frozen=True, slots=True)
class _Announced:
    """A time that was fixed when it was announced; a sliding one is ``after`` every look."""

    moment: datetime
    after: timedelta
    is_sliding: bool


class Instance:
    """Takes changes in the order of their moments, and tells what has come of them."""

    def __init__(self, clock: ScenarioClock) -> None:
        self.maintenance = Maintenance()
        self.target_state: str | None = None
        self._clock = clock
        self._action = SpotAction.TERMINATE
        self._mark: _Announced | None = None
        self._rebalance: _Announced | None = None

    def mark(self) -> SpotMark | None:
        """Return the notice in force, if any."""
        return SpotMark(self._action, self._told(self._mark)) if self._mark else None

    def rebalance_time(self) -> str | None:
        """Return when a rebalance was recommended, if it was."""
        return self._told(self._rebalance) if self._rebalance else None

    def refuse(self, change: Change) -> None:
        """Pass if there is something for ``change`` to end.

        Raises:
            ScenarioError: It withdraws a notice or ends an event, and none is in force.
        """
        if isinstance(change, NoticeWithdrawn) and self._mark is None:
            raise ScenarioError("no notice is in force, so none to withdraw")
        if isinstance(change, MaintenanceEnded):
            self.maintenance.refuse(change)

    def apply(self, change: Change) -> None:
        """Let ``change`` happen; one that finds nothing to end changes nothing."""
        happened = self._clock.wall_time_at(change.at_s)
        match change:
            case NoticeIssued():
                self._issue(change, happened)
            case NoticeWithdrawn():
                self._mark = None
                log.info("notice withdrawn")
            case RebalanceRecommended():
                self._rebalance = _Announced(happened, timedelta(), change.is_sliding)
                log.info("rebalance recommended noticeTime=%s", whole_seconds(happened))
            case MaintenanceScheduled():
                self.maintenance.schedule(change, happened)
            case MaintenanceEnded():
                self.maintenance.end(change)
            case TargetStateSet():
                self.target_state = change.state
                log.info("target lifecycle state %s", change.state)

    def _issue(self, change: NoticeIssued, happened: datetime) -> None:
        left = timedelta(seconds=change.window_s - change.ago_s)
        self._action = change.action
        self._mark = _Announced(happened + left, left, change.is_sliding)
        log.info("notice issued action=%s time=%s", change.action, self._told(self._mark))

    def _told(self, announced: _Announced) -> str:
        if not announced.is_sliding:
            return whole_seconds(announced.moment)
        return whole_seconds(self._clock.wall_time() + announced.after)


def whole_seconds(moment: datetime) -> str:
    """Write ``moment`` as EC2 does: UTC, whole seconds, Z.

    Cut, not rounded: a notice must not promise time that is not there.
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
