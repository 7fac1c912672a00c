"""What can happen to an instance of EC2's and its metadata service, each with its moment.

:mod:`watcher.simulator.aws.vocabulary` reads these from words.
"""

from dataclasses import dataclass
from enum import StrEnum

from watcher.simulator.changes import Change

SPOT_WINDOW_S = 120.0
"""Seconds between a Spot notice and its `time`. Source: EC2 user guide, Spot interruption
notices (read 2026-11-30): two minutes, best effort."""

HIBERNATE_WINDOW_S = 0.0
"""Hibernation starts with the notice. Source: EC2 user guide, hibernation (read 2026-11-30)."""


class SpotAction(StrEnum):
    """What EC2 does to the instance at the end of the window."""

    TERMINATE = "terminate"
    STOP = "stop"
    HIBERNATE = "hibernate"

    @property
    def window_s(self) -> float:
        """Seconds of warning that EC2 aims at for this action."""
        return HIBERNATE_WINDOW_S if self is SpotAction.HIBERNATE else SPOT_WINDOW_S


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeIssued(Change):
    """The instance is marked: ``action`` follows ``window_s`` after the notice.

    ``ago_s`` back-dates the notice, so that a deadline can lie in the past. A sliding one is
    computed anew at every look, which EC2 never does and the mocks of it do.
    """

    action: SpotAction
    window_s: float
    ago_s: float = 0.0
    is_sliding: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeWithdrawn(Change):
    """The instance is no longer marked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RebalanceRecommended(Change):
    """The instance is at elevated risk; EC2 never takes that back. Sliding is as in a notice."""

    is_sliding: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceScheduled(Change):
    """A scheduled event is announced, or the one of that id is rescheduled.

    ``not_after_s`` None leaves the end out; an empty one is there without a time, which EC2 has
    been seen to send as well.
    """

    event_id: str
    code: str
    description: str
    not_before_s: float
    not_after_s: float | None = None
    not_before_deadline_s: float | None = None
    is_not_after_empty: bool = False


class EventEnd(StrEnum):
    """How a scheduled event ends, in the spelling of EC2."""

    COMPLETED = "completed"
    CANCELED = "canceled"


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceEnded(Change):
    """A scheduled event goes to the history; one that stays listed is in both lists, ended."""

    event_id: str
    state: EventEnd
    stays_listed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetStateSet(Change):
    """The instance's Auto Scaling group begins to take it to ``state``: an open set of words."""

    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TokensExpired(Change):
    """Every token minted so far becomes unknown, as when the metadata service restarts."""
