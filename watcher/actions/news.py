"""What people and their programs are told of a notice: one document and one sentence; pure.

The words of a cloud are in it, so everything is one line of printable text of a bounded length.
"""

from dataclasses import dataclass
from datetime import datetime

from watcher.errors import first_line
from watcher.notice import NoticeKind, Standing, Urgency, rfc3339

SCHEMA = 1

WORD_LIMIT_CHARS = 256
"""Longest word of a cloud's that is passed on."""

DETAILS_LIMIT = 32
"""Most details of a notice that are passed on; no cloud tells half as many."""

_MEANS = {
    Urgency.STOP: "the training on it stops",
    Urgency.ADVISORY: "advice only, the training on it goes on",
}


@dataclass(frozen=True, slots=True)
class News:
    """A notice has come in force, or was withdrawn."""

    standing: Standing
    is_withdrawal: bool = False

    @property
    def state(self) -> str:
        """Say which, in one word."""
        return "withdrawn" if self.is_withdrawal else "in_force"

    @property
    def is_drill(self) -> bool:
        """Whether it is only an exercise."""
        return self.standing.notice.kind is NoticeKind.DRILL


FIELDS = (
    "schema",
    "state",
    "text",
    "node",
    "id",
    "kind",
    "urgency",
    "source",
    "action",
    "instance_id",
    "received_at",
    "deadline",
    "counts_until",
    "drill",
    "detail",
)
"""The names in a document, in order."""


def document(news: News, node: str) -> dict[str, object]:
    """Return the news of a node as fields of JSON."""
    standing = news.standing
    notice, deadline = standing.notice, standing.notice.deadline
    details = list(notice.detail.items())[:DETAILS_LIMIT]
    values = (
        SCHEMA,
        news.state,
        sentence(news, node),
        _clean(node),
        _clean(notice.id),
        notice.kind.value,
        standing.urgency.value,
        _clean(notice.source),
        _clean(notice.action),
        _clean(notice.instance_id),
        _instant(notice.received.wall),
        _instant(deadline.wall) if deadline else None,
        _instant(standing.counts_until.wall),
        news.is_drill,
        {_clean(name): _clean(word) for name, word in details},
    )
    return dict(zip(FIELDS, values, strict=True))


def sentence(news: News, node: str) -> str:
    """Return the news of a node as one line for people; a drill is called one first of all."""
    standing, notice = news.standing, news.standing.notice
    drill = "DRILL, nothing is taken away. " if news.is_drill else ""
    who = f"{_clean(notice.source)}: {_clean(notice.action)}" if notice.action else notice.source
    if news.is_withdrawal:
        return f"{drill}{_clean(node)}: {notice.kind} notice withdrawn ({who})"
    ends = _instant(standing.counts_until.wall)
    until = f"deadline {ends}" if notice.deadline else f"no deadline said, counted until {ends}"
    return (
        f"{drill}{_clean(node)}: {notice.kind} notice, {_MEANS[standing.urgency]}; {until} ({who})"
    )


def _clean(text: str | None) -> str | None:
    return None if text is None else first_line(text)[:WORD_LIMIT_CHARS]


def _instant(wall: datetime) -> str:
    return rfc3339(wall.replace(microsecond=0))
