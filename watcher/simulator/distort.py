"""Bodies that are the cloud's but for one oddity: what a reader of them has to bear."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from watcher.simulator.answers import compact_json
from watcher.simulator.faults import FaultKind

_ACTION_KEYS = ("action", "Code", "EventType")
_TIME_KEYS = (
    *("time", "noticeTime", "NotBefore", "NotAfter", "NotBeforeDeadline"),
    *("window_start_time", "window_end_time", "latest_window_start_time"),
    *("windowStartTime", "windowEndTime", "latestWindowStartTime"),
)

Document = dict[str, object]


def distort(kind: FaultKind, body: bytes) -> bytes:
    """Return ``body`` with the oddity that ``kind`` names; kinds that name none change nothing."""
    return DISTORTIONS[kind](body) if kind in DISTORTIONS else body


def _in_objects(alter: Callable[[Document], Document]) -> Callable[[bytes], bytes]:
    """Make a distortion of every object of a JSON body; other bodies stay as they are."""

    def within(value: object) -> object:
        match value:
            case dict():
                return alter({key: within(inner) for key, inner in value.items()})
            case list():
                return [within(inner) for inner in value]
            case _:
                return value

    def distorted(body: bytes) -> bytes:
        try:
            document = json.loads(body)
        except ValueError:
            return body
        is_structured = isinstance(document, dict | list)
        return compact_json(within(document)).encode() if is_structured else body

    return distorted


def _replaced(keys: tuple[str, ...], value: str) -> Callable[[Document], Document]:
    return lambda document: {key: value if key in keys else was for key, was in document.items()}


DISTORTIONS: Mapping[FaultKind, Callable[[bytes], bytes]] = MappingProxyType(
    {
        FaultKind.BOM: lambda body: b"\xef\xbb\xbf" + body,
        FaultKind.NEWLINE: lambda body: body + b"\n",
        FaultKind.EXTRA_KEYS: _in_objects(
            lambda document: document | {"addedLater": {"schema": 2, "list": [None, 1.5, "x"]}}
        ),
        FaultKind.UNKNOWN_ACTION: _in_objects(_replaced(_ACTION_KEYS, "defenestrate")),
        FaultKind.NO_TIME: _in_objects(
            lambda document: {k: v for k, v in document.items() if k not in _TIME_KEYS}
        ),
        FaultKind.BAD_TIME: _in_objects(_replaced(_TIME_KEYS, "soon")),
    }
)
"""What each of these kinds makes of a true body."""
