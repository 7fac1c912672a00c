"""RFC 3339, in which every cloud writes at least some of its instants: into aware UTC times."""

import re
from datetime import UTC, datetime

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)

# No cloud's clock has ever shown less, and nothing is planned beyond; a window added to either
# stays within what datetime can hold.
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def rfc3339_instant(value: object) -> datetime | None:
    """Return an RFC 3339 time in UTC, such as ``2026-11-30T10:07:06Z``; None for anything else.

    Any offset will do, and any number of decimals, of which a microsecond is the last that counts.
    """
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        return None
    return from_iso(value)


def from_iso(text: str) -> datetime | None:
    """Return a time in ISO 8601, in UTC unless it says otherwise; None for what is no instant."""
    try:
        read = datetime.fromisoformat(text.upper())
        return plausible((read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def plausible(read: datetime) -> datetime | None:
    """Return the time if a cloud may have said it, but none later than can be reckoned with."""
    return min(read, _LATEST) if read >= _EARLIEST else None
