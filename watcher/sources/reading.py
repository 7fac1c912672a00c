"""What a message of a cloud's comes to: notices, each with its addressee, or nothing to be done.

The third outcome, a body that is not the cloud's or says too little to act on, is SourceMalformed.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from watcher.aws.hook import LifecycleHook
from watcher.notice import Notice


class Grounds(StrEnum):
    """Why a message needs nothing done; few and fixed, fit for a metric's label."""

    UNKNOWN_KIND = "unknown_kind"
    """A message of the cloud's that no parser is for."""
    TEST = "test"
    """Sent to try the way, such as an auto-scaling hook's first message."""
    NOT_ENDING = "not_ending"
    """About an instance or a reservation that is not about to end."""
    NOT_INSTANCES = "not_instances"
    """About something else than instances."""
    CLOSED = "closed"
    """The end of what an earlier message has announced."""
    BEFORE_BOOT = "before_boot"
    """Over, because the instance has been booted since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForInstance:
    """A notice to one instance."""

    notice: Notice
    instance_id: str
    hook: LifecycleHook | None = None
    """To be completed when the instance may go; None where nobody waits."""
    over_if_booted_after: datetime | None = None
    """A boot later than this shows that it is over; None where a boot shows nothing. Only the
    instance itself knows when it was booted."""
    is_terminated: bool = False
    """Whether the cloud says that it has ended for good, so that nothing of it runs any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForReservation:
    """A notice to every instance in a capacity reservation; see capacity_block.member_notice."""

    notice: Notice
    reservation_id: str
    ends: datetime | None
    """When the reservation ends, if that could be read."""


@dataclass(frozen=True, slots=True)
class Notices:
    """Something is going to happen; the message is done with when every addressee is."""

    addressed: tuple[ForInstance | ForReservation, ...]


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing is to be done, and why: one printable line, whatever the message said."""

    grounds: Grounds
    why: str


Reading = Notices | Ignored
