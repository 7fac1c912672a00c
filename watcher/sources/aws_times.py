"""The ways AWS writes an instant, read into aware UTC times.

Source: EC2 user guide, "Scheduled events for your instances" and "Spot Instance interruption
notices"; AWS Health user guide, event schema; Auto Scaling user guide, lifecycle notifications
(all read 2026-11-30).
"""

import re
from datetime import UTC, datetime

from watcher.sources.times import from_iso, plausible

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)? ?([Zz]|[+-]\d\d(:?\d\d)?)?", re.ASCII
)
_SPELT = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d)"
    r" (?:GMT|UTC|[+-]0000)",
    re.ASCII,
)

# strptime's %b follows the process's locale; AWS's months are English everywhere.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def any_instant(value: object) -> datetime | None:
    """Return a time in UTC that is written in any of AWS's ways; None for anything else.

    Besides RFC 3339 these are ``21 Dec 2026 09:00:43 GMT`` (scheduled events), ``Sat, 12 Dec 2026
    15:10:09 GMT`` (AWS Health), and ISO 8601 with seconds or zone left out, which then are 0 and
    UTC (a Capacity Block's end, whose format is documented nowhere).
    """
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _ISO.fullmatch(text):
        return from_iso(text.replace(" ", "T", 1).replace(" ", ""))
    spelt = _SPELT.fullmatch(text)
    if spelt is None or spelt[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(spelt[group]) for group in (1, 3, 4, 5, 6))
    try:
        month = 1 + _MONTHS.index(spelt[2])
        return plausible(datetime(year, month, day, hour, minute, second, tzinfo=UTC))
    except ValueError:
        return None
