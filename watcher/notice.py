"""A notice: what a cloud has said about this node, as a frozen value.

Everything here is pure: no I/O and no clock reads. A source makes a :class:`Notice` and its
:class:`Deadline` once, at the edge; everybody after it only reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

CLOCK_SLACK_S = 5.0
"""Seconds by which the same instant may come out differently at another look."""


class NoticeKind(StrEnum):
    """What is going to happen to the node; never inferred from an id or a message."""

    PREEMPTION = "preemption"
    """The cloud takes a Spot node back."""
    TERMINATION = "termination"
    """A user, an auto-scaling group or a state change ends the node."""
    CAPACITY_END = "capacity_end"
    """A reservation or a maximum run time is over."""
    MAINTENANCE = "maintenance"
    """The host is serviced and the node does not survive it."""
    LIVE_MIGRATION = "live_migration"
    """The node moves to another host and survives; a pause is likely."""
    REBALANCE = "rebalance"
    """The risk of a preemption has risen; it may never come."""
    HARDWARE = "hardware"
    """The host is degraded or retired and may already be failing."""
    NODE_REQUEST = "node_request"
    """A trainer has asked for another node: a straggler, or corrupted results."""
    SHUTDOWN = "shutdown"
    """The operating system has begun to shut down."""
    DRILL = "drill"
    """An exercise; any real notice displaces it."""


class Urgency(StrEnum):
    """What trainers are asked to do: end at a step boundary, or bring the next save forward."""

    STOP = "stop"
    ADVISORY = "advisory"


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant as both clocks showed it: aware UTC wall time, and CLOCK_BOOTTIME in seconds."""

    wall: datetime
    boottime_s: float


@dataclass(frozen=True, slots=True)
class Deadline:
    """The instant by which everything has to be done.

    It is kept on CLOCK_BOOTTIME, which neither stops in suspend nor jumps with the wall clock;
    the wall time is for people and for readers in another time namespace.
    """

    wall: datetime
    boottime_s: float

    @classmethod
    def after(cls, seen: Moment, seconds: float) -> "Deadline":
        """Return the deadline that lies ``seconds`` after the moment ``seen``."""
        return cls(seen.wall + timedelta(seconds=seconds), seen.boottime_s + seconds)

    @classmethod
    def stated(cls, wall: datetime, *, seen: Moment, longest_s: float) -> "Deadline":
        """Return the deadline a cloud has stated, but at most ``longest_s`` after ``seen``.

        More than the cloud has ever promised means that one of the two clocks is wrong, and a
        deadline believed too far away loses the work. One in the past stays there: the time that
        is left is then zero, and readers can tell how long the node has outlived it.
        """
        left_s = min((wall - seen.wall).total_seconds(), longest_s)
        return cls.after(seen, left_s)

    def before(self, seconds: float) -> Moment:
        """Return the moment that lies ``seconds`` before the deadline."""
        return Moment(self.wall - timedelta(seconds=seconds), self.boottime_s - seconds)

    def corrects(self, old: "Deadline") -> bool:
        """Tell whether this is the same instant, and ``old`` was reckoned from a wrong clock.

        Only a deadline that is clearly earlier corrects one; one believed too early costs little.
        """
        return self.boottime_s < old.boottime_s - CLOCK_SLACK_S

    def left_s(self, now: Moment) -> float:
        """Return the seconds from ``now`` to the deadline, 0 when it has passed."""
        return max(0.0, self.boottime_s - now.boottime_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What was said about this node, by whom and when; it never changes."""

    id: str
    """The same for every sighting of the same fact, also after a restart of the daemon."""
    kind: NoticeKind
    source: str
    """Name of the source, as in logs and metrics."""
    received: Moment
    """When the bytes that said it first had arrived."""
    deadline: Deadline | None = None
    """None when the cloud promises no instant; the policy then counts a default window."""
    action: str | None = None
    """The cloud's own word for what it will do, unchanged."""
    instance_id: str | None = None
    detail: Mapping[str, str] = field(default_factory=dict)
    """The cloud's own words; ``malformed`` says what of them could not be read."""
    withdrawn: bool = False
    """True when this takes back the notice with the same id."""
    outcome: str = ""
    """What has become of it, in a withdrawal: ``survived`` (the node has outlived its deadline),
    ``replaced`` (by a newer notice), or ``over`` (the cloud has taken it back, or is done)."""

    def __str__(self) -> str:
        """Return the keys that every log line about this notice carries."""
        deadline = rfc3339(self.deadline.wall) if self.deadline else "none"
        return f"notice_id={self.id} source={self.source} kind={self.kind} deadline={deadline}"


@dataclass(frozen=True, slots=True)
class Standing:
    """A notice in force, with what the policy made of it."""

    notice: Notice
    urgency: Urgency
    counts_until: Deadline
    """The notice's deadline, else the moment of receipt plus the kind's default window."""
    acts_from: Moment | None = None
    """From when on it is in force, None for at once; a stop days ahead is only planned before."""
    expires: Deadline | None = None
    """Until when what is done to the Node for it stays, None for as long as it is in force."""

    def is_due(self, now: Moment) -> bool:
        """Tell whether it is in force at ``now``, by CLOCK_BOOTTIME alone."""
        return self.acts_from is None or now.boottime_s >= self.acts_from.boottime_s

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Sort key, the most urgent first: real before drill, stop before advisory, earliest."""
        is_drill = self.notice.kind is NoticeKind.DRILL
        return (is_drill, self.urgency is Urgency.ADVISORY, self.counts_until.boottime_s)


def rfc3339(wall: datetime) -> str:
    """Return an aware time as RFC 3339 in UTC, ending in Z."""
    return wall.astimezone(UTC).isoformat().replace("+00:00", "Z")
