"""``Capacity Block ... Expiration Warning``: a reservation for machine learning is nearly over.

The event names the reservation and no instance, and instances begin to go well before the end that
it states: 30 min before, 60 min in an UltraServer.

Source: EC2 user guide, "Monitor Capacity Blocks using EventBridge"; Karpenter's documentation of
capacity reservations (both read 2026-11-30).
"""

import re
from dataclasses import replace
from datetime import datetime, timedelta

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.aws_messages.event import Event
from watcher.sources.aws_times import any_instant
from watcher.sources.aws_windows import CAPACITY_BLOCK_WINDOW_S
from watcher.sources.aws_words import QUEUE
from watcher.sources.reading import (
    ForReservation,
    Grounds,
    Ignored,
    Notices,
    Reading,
)
from watcher.sources.words import detail, notice_id, shown, word

_CUT_SHORT = timedelta(minutes=30)
_CUT_SHORT_ULTRASERVER = timedelta(minutes=60)
_ULTRASERVER = re.compile(r"(p\d+e-gb\d+|trn\d+u)\.")
_RESERVATION_ID = re.compile(r"cr-[A-Za-z0-9-]{1,62}", re.ASCII)


def parse_expiration_warning(event: Event) -> Reading:
    """Return the end of the capacity to everybody in the reservation, by the 30 min rule.

    Raises:
        SourceMalformed: It names no reservation.
    """
    reservation_id = event.said.get("capacity-reservation-id")
    if not isinstance(reservation_id, str) or not _RESERVATION_ID.fullmatch(reservation_id):
        raise SourceMalformed(f"{event.title}: {shown('capacity-reservation-id', event.said)}")
    ends = any_instant(event.said.get("end-date"))
    odd = event.oddities
    deadline = event.deadline(CAPACITY_BLOCK_WINDOW_S)
    if ends is None:
        odd.append(shown("end-date", event.said))
    else:
        deadline = _believed(ends - _CUT_SHORT, event.received)
    end_date = word(event.said.get("end-date"))
    notice = Notice(
        id=notice_id("aws-capacity-block", reservation_id, end_date or event.key),
        kind=NoticeKind.CAPACITY_END,
        source=QUEUE,
        received=event.received,
        deadline=deadline,
        action="terminate",
        detail=detail({"capacity-reservation-id": reservation_id, "end-date": end_date}, odd),
    )
    return Notices((ForReservation(notice=notice, reservation_id=reservation_id, ends=ends),))


def parse_delivered(event: Event) -> Reading:
    """Ignore the beginning of a Capacity Block."""
    reservation_id = word(event.said.get("capacity-reservation-id"))
    return Ignored(Grounds.NOT_ENDING, f"Capacity Block {reservation_id!r} begins")


def member_notice(told: ForReservation, instance_id: str, instance_type: str) -> Notice:
    """Return the notice for one instance of the reservation, by the rule for its type."""
    mine = replace(told.notice, id=notice_id(told.notice.id, instance_id), instance_id=instance_id)
    if told.ends is None or not _ULTRASERVER.match(instance_type):
        return mine
    gone = told.ends - _CUT_SHORT_ULTRASERVER
    return replace(mine, deadline=_believed(gone, mine.received))


def _believed(gone: datetime, received: Moment) -> Deadline:
    return Deadline.stated(gone, seen=received, longest_s=CAPACITY_BLOCK_WINDOW_S)
