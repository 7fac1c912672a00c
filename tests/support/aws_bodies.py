"""The bodies of tests/data/aws, and what a test needs to change and read one."""

import json
from datetime import UTC, datetime
from pathlib import Path

from watcher.notice import Moment, Notice
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.reading import ForInstance, ForReservation, Notices, Reading

DATA = Path(__file__).parents[1] / "data" / "aws"
MESSAGES = sorted(path.stem for path in DATA.glob("*.json"))

SAID = datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC)
"""When every event of the data was emitted."""
RECEIVED = Moment(datetime(2026, 11, 30, 10, 5, 8, tzinfo=UTC), 7000.0)
"""Two seconds later."""

ABSENT = object()
"""In :func:`changed`, the value of a key that is to be removed."""


def body(name: str) -> bytes:
    """Return a message as it lies in a queue."""
    return (DATA / f"{name}.json").read_bytes()


def imds(name: str) -> bytes:
    """Return an answer of the metadata service."""
    return (DATA / "imds" / name).read_bytes()


def changed(name: str, path: str, value: object) -> bytes:
    """Return a message with another value at the path, such as ``detail/instance-id``."""
    message = json.loads(body(name))
    *parents, last = path.split("/")
    within = message
    for parent in parents:
        within = within[parent]
    if value is ABSENT:
        del within[last]
    else:
        within[last] = value
    return json.dumps(message).encode()


def read(message: bytes | str) -> Reading:
    """Read a message two seconds after it was said."""
    return parse_message(message, RECEIVED)


def addressed(message: bytes | str) -> tuple[ForInstance | ForReservation, ...]:
    """Read a message that must be notices."""
    reading = read(message)
    assert isinstance(reading, Notices), reading
    return reading.addressed


def only(message: bytes | str) -> Notice:
    """Read a message that must be one notice."""
    [told] = addressed(message)
    return told.notice


def left_s(notice: Notice) -> float | None:
    """Return the seconds from receipt to the deadline, negative when it lies before."""
    if notice.deadline is None:
        return None
    return notice.deadline.boottime_s - notice.received.boottime_s
