"""A line that a program prints for the source ``command``."""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.explain.answer import Answer, Asked, Body, Told
from watcher.notice import NoticeKind
from watcher.sources.notice_line import Unsaid, parse_line


def _line(body: bytes, asked: Asked) -> Answer:
    notice = parse_line(body, asked.received, Unsaid("command", NoticeKind.PREEMPTION))
    return f"it takes {notice.id} back" if notice.withdrawn else (Told(notice),)


LINE_BODIES: Mapping[str, Body] = MappingProxyType(
    {"command-line": Body("a line that the program of the source command prints", _line)}
)
