"""The bodies of tests/data/azure, and what a test needs to change and read one."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from watcher.notice import Moment, Notice
from watcher.sources.azure_document import Document, parse_document

DATA = Path(__file__).parents[1] / "data" / "azure"

ME = "gpu-vmss_3"
RECEIVED = Moment(datetime(2026, 11, 30, 10, 5, 8, tzinfo=UTC), 7000.0)


def body(name: str) -> bytes:
    """Return a document as the metadata service gives it."""
    return (DATA / f"{name}.json").read_bytes()


def event(name: str, **changes: object) -> dict[str, Any]:
    """Return the only event of a document, with some of its values changed."""
    [only] = json.loads(body(name))["Events"]
    return {**only, **changes}


def document(*events: object, incarnation: object = 2) -> bytes:
    """Return a document with these events."""
    return json.dumps({"DocumentIncarnation": incarnation, "Events": events}).encode()


def read(data: bytes, vm_name: str | None = ME) -> Document:
    """Read a document."""
    return parse_document(data, RECEIVED, vm_name)


def only(name: str, **changes: object) -> Notice:
    """Read the only event of a document, with some of its values changed."""
    [told] = read(document(event(name, **changes))).events
    return told.notice


def left_s(notice: Notice) -> float | None:
    """Return the seconds from receipt to the deadline, negative when it lies before."""
    if notice.deadline is None:
        return None
    return notice.deadline.boottime_s - notice.received.boottime_s
