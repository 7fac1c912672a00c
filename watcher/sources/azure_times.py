"""The ways in which Azure, and what imitates it, writes an instant: into aware UTC times.

Source: Azure virtual machines, "Scheduled Events for Linux VMs", NotBefore (read 2026-11-30), which
has RFC 1123; other readers have met RFC 3339, RFC 822 and RFC 850 as well.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from watcher.sources.times import from_iso, plausible

_ISO = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_SPELT = re.compile(
    r"(?:[A-Z][a-z]{2,8}, )?\d{1,2}[ -][A-Z][a-z]{2}[ -](?:\d{4}|\d\d) \d\d:\d\d(?::\d\d)?"
    r" (?:GMT|UTC|Z|[+-]\d{4})",
    re.ASCII,
)


def instant(value: object) -> datetime | None:
    """Return a time such as ``Mon, 30 Nov 2026 18:29:47 GMT`` in UTC; None for anything else.

    Months are English whatever the locale. ISO 8601 without a zone is UTC, as the mock server of
    Azure's own samples has it.
    """
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _ISO.fullmatch(text):
        return from_iso(text)
    if not _SPELT.fullmatch(text):
        return None
    try:
        read = parsedate_to_datetime(text)
        return plausible((read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError):
        return None
