"""Showing what is in a checkpoint directory: a table for people, JSON for programs."""

from collections.abc import Sequence
from datetime import datetime

from trainer_hooks.checkpoint.catalogue import Entry
from trainer_hooks.untrusted import in_one_line

_HEADS = ("NAME", "STATE", "RANKS", "SIZE", "AGE", "VERIFIED", "NOTE")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def table(entries: Sequence[Entry], now: datetime) -> str:
    """Return the entries as aligned lines, newest first."""
    rows = [_HEADS, *(_row(entry, now) for entry in entries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def size(count_bytes: float) -> str:
    """Return a number of bytes as people say it."""
    for unit in _UNITS[:-1]:
        if count_bytes < 1024:
            return f"{count_bytes:.0f} {unit}" if unit == "B" else f"{count_bytes:.1f} {unit}"
        count_bytes /= 1024
    return f"{count_bytes:.1f} {_UNITS[-1]}"


def _row(entry: Entry, now: datetime) -> tuple[str, ...]:
    notes = [entry.reason, None if entry.pinned is None else f"pinned: {entry.pinned}"]
    return (
        str(entry.name),
        entry.state.value,
        "-" if entry.world_size is None else str(entry.world_size),
        size(entry.bytes),
        "-" if entry.created is None else _age(entry.created, now),
        "never" if entry.verified is None else _verified(entry.verified, now),
        in_one_line("; ".join(filter(None, notes))),
    )


def _verified(text: str, now: datetime) -> str:
    at, _, level = text.partition(" ")
    return f"{_age(at, now)} ({level})"


def _age(instant: str, now: datetime) -> str:
    """Return how long ago an instant was; a clock that is behind is no trouble of ours."""
    try:
        age_s = max(0.0, (now - datetime.fromisoformat(instant)).total_seconds())
    except (ValueError, TypeError):
        return "-"
    for unit, unit_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if age_s >= unit_s:
            return f"{age_s // unit_s:.0f} {unit}"
    return f"{age_s:.0f} s"
