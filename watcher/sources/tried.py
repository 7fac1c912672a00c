"""What became of one question that a check has asked: an answer, or why there is none.

Shared by the checks of every cloud, which ask first and judge afterwards.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from watcher.errors import SourceError, escaped
from watcher.finding import Finding, ok, unknown, wrong
from watcher.httpclient import Answer, HttpClient

Tried = Answer | SourceError
"""A complete answer, whatever its status, or why there is none."""

CLOCK_LIMIT_S = 5.0
"""Seconds that this clock may be off: a deadline is as wrong as the clock it is told by."""


async def ask(
    client: HttpClient,
    method: str,
    path: str,
    headers: Mapping[str, str],
    *,
    limit_s: float | None = None,
) -> Tried:
    """Ask once."""
    try:
        return await client.call(method, path, headers, limit_s=limit_s)
    except SourceError as error:
        return error


def status_of(tried: Tried) -> int | None:
    """Return the status of an answer; None where there is no answer."""
    return tried.status if isinstance(tried, Answer) else None


def outcome_of(tried: Tried) -> str:
    """Return the word for why there is no answer; empty where there is one."""
    return "" if isinstance(tried, Answer) else tried.outcome


def shown(tried: Tried) -> str:
    """Return what became of it, for people."""
    return f"HTTP {tried.status}" if isinstance(tried, Answer) else str(tried)


def text_of(tried: Tried) -> str:
    """Return the beginning of a body that came with status 200, fit for a terminal; else nothing.

    Every fact of a machine is far shorter than what is kept here.
    """
    if not isinstance(tried, Answer) or tried.status != 200:
        return ""
    return escaped(tried.body[:128].decode("utf-8", "replace").strip())


def date_of(tried: Tried) -> datetime | None:
    """Return when the server says that it has answered; None where it does not say."""
    try:
        text = tried.headers["Date"] if isinstance(tried, Answer) else ""
        return parsedate_to_datetime(text).astimezone(UTC)
    except (KeyError, ValueError, OverflowError):
        return None


def clock(tried: Tried, asked_at: datetime, *, whose: str, todo: str) -> Finding:
    """Judge this machine's clock by the server's Date."""
    date = date_of(tried)
    if date is None:
        return unknown("clock", f"{whose} has told no time")
    off_s = (asked_at - date).total_seconds()
    # A Date has whole seconds, cut off, and answers take a while: up to a second is not the clock.
    if abs(off_s) <= CLOCK_LIMIT_S + 1:
        return ok("clock", f"within {CLOCK_LIMIT_S:.0f} s of {whose}'s")
    where = "ahead of" if off_s > 0 else "behind"
    return wrong("clock", f"{abs(off_s):.0f} s {where} {whose}'s", todo)
