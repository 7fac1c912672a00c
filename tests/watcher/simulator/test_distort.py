"""Each oddity, and nothing but it."""

import json

import pytest

from watcher.simulator.distort import distort
from watcher.simulator.faults import FaultKind

ACTION = b'{"action":"terminate","time":"2026-11-30T11:02:10Z"}'
DOCUMENT = b'{"Events":[{"EventType":"Preempt","NotBefore":"Mon, 30 Nov 2026 11:00:10 GMT"}]}'
EVENTS = b'[{"NotBefore":"1 Dec 2026 09:00:43 GMT","Code":"system-reboot","NotAfter":""}]'


@pytest.mark.parametrize(
    ("kind", "body", "odd"),
    [
        (FaultKind.BOM, ACTION, b"\xef\xbb\xbf" + ACTION),
        (FaultKind.NEWLINE, b"spot", b"spot\n"),
        (
            FaultKind.UNKNOWN_ACTION,
            ACTION,
            b'{"action":"defenestrate","time":"2026-11-30T11:02:10Z"}',
        ),
        (FaultKind.NO_TIME, ACTION, b'{"action":"terminate"}'),
        (FaultKind.BAD_TIME, ACTION, b'{"action":"terminate","time":"soon"}'),
        (FaultKind.NO_TIME, b'{"noticeTime":"2026-11-30T11:02:10Z"}', b"{}"),
        (
            FaultKind.BAD_TIME,
            b'{"windowStartTime":"x","type":"y"}',
            b'{"windowStartTime":"soon","type":"y"}',
        ),
        (FaultKind.NO_TIME, b'{"a":{"window_start_time":"x","type":"y"}}', b'{"a":{"type":"y"}}'),
        (FaultKind.NO_TIME, EVENTS, b'[{"Code":"system-reboot"}]'),
        (
            FaultKind.UNKNOWN_ACTION,
            EVENTS,
            EVENTS.replace(b"system-reboot", b"defenestrate"),
        ),
        (FaultKind.UNKNOWN_ACTION, DOCUMENT, DOCUMENT.replace(b"Preempt", b"defenestrate")),
        (FaultKind.NO_TIME, DOCUMENT, b'{"Events":[{"EventType":"Preempt"}]}'),
    ],
)
def test_body_is_odd_in_one_way_only(kind: FaultKind, body: bytes, odd: bytes) -> None:
    """Byte for byte the true body otherwise."""
    assert distort(kind, body) == odd


@pytest.mark.parametrize("body", [ACTION, EVENTS])
def test_extra_keys_come_with_all_that_was_there(body: bytes) -> None:
    """What a later version of the cloud may add."""
    true, odd = json.loads(body), json.loads(distort(FaultKind.EXTRA_KEYS, body))
    pairs = zip(true, odd, strict=True) if isinstance(true, list) else [(true, odd)]
    assert all(more.keys() - less.keys() and less.items() <= more.items() for less, more in pairs)


@pytest.mark.parametrize("body", [b"i-0123456789abcdef0", b"", b"5", b"[]"])
@pytest.mark.parametrize(
    "kind",
    [FaultKind.EXTRA_KEYS, FaultKind.UNKNOWN_ACTION, FaultKind.NO_TIME, FaultKind.BAD_TIME],
)
def test_body_stays_true_when_it_is_no_json_object(kind: FaultKind, body: bytes) -> None:
    """There is nothing in it to alter."""
    assert distort(kind, body) == body
