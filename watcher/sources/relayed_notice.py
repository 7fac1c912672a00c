"""The relay's word to a node: the annotation ``reprieve.dev/notice``, version 1, both ways. Pure.

``tests/contract/relayed_notice_v1.json`` pins it. It holds every notice to the Node that is not
long over, so that one which comes later takes none away.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from watcher.errors import SourceMalformed
from watcher.kube.objects import Node
from watcher.notice import Deadline, Moment, Notice, NoticeKind, rfc3339
from watcher.sources.kubernetes_marks import KUBERNETES_NODE
from watcher.sources.kubernetes_windows import LONGEST_S, OVER_AFTER_S
from watcher.sources.reading import ForInstance
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import decoded, detail, notice_id, shown, word

SCHEMA = 1

PREFIX = "relayed"
"""Begins the id of a relayed notice on the node, whose own sources may tell of the same thing."""

NOTICES_LIMIT = 16
"""Most notices in an annotation; the newest are kept."""

LIMIT_CHARS = 64 * 1024
"""Longest annotation that is read; all of an object's together may have 256 KiB. Source: Kubernetes
documentation, "Annotations" (read 2026-11-30)."""

_WORD_LIMIT_CHARS = 256
_WORDS_LIMIT = 8


@dataclass(frozen=True, slots=True)
class Relayed:
    """One notice as the relay has written it."""

    told: ForInstance
    boot_id: str
    """The boot in which the relay has seen the Node; empty where that had none."""
    said: datetime | None
    """When the relay had it."""

    def is_of_earlier_boot(self, boot_id: str, now: Moment) -> bool:
        """Tell whether it was said before this boot began, so that it is void.

        The kubelet may not have come to a new boot when the relay looks at the Node, so the id
        alone would take a notice of this boot for one of the last.
        """
        if self.boot_id in ("", boot_id):
            return False
        return self.said is None or self.said < now.wall - timedelta(seconds=now.boottime_s)

    def is_long_over(self, now: datetime) -> bool:
        """Tell, by the wall clock, whether a node that is alive has outlived it by far."""
        ends = self.told.notice.deadline
        return _is_over(self.told.notice.kind, ends.wall if ends else None, self.said, now)


@dataclass(frozen=True, slots=True)
class Word:
    """What the annotation says."""

    notices: tuple[Relayed, ...]
    odd: str = ""
    """Why not all of it could be read; something may be in force that is not in ``notices``."""


def parse(text: str, node: Node, seen: Moment) -> Word:
    """Return what the relay says to the Node that carries this.

    Raises:
        SourceMalformed: Nothing of it can be read, or it is to another machine.
    """
    document = _document(text)
    if document.get("schema") != SCHEMA:
        raise SourceMalformed(f"relayed notices: schema {document.get('schema')!r:.40}, not 1")
    if document.get("provider_id") != node.provider_id:
        raise SourceMalformed(
            f"relayed notices: {shown('provider_id', document)}, and the Node is "
            f"{node.provider_id!r:.80}"
        )
    entries = document.get("notices")
    if not isinstance(entries, list):
        raise SourceMalformed(f"relayed notices: {shown('notices', document)}")
    found: dict[str, Relayed] = {}
    odd = [f"more than {NOTICES_LIMIT} notices"] if len(entries) > NOTICES_LIMIT else []
    for number, entry in enumerate(entries[:NOTICES_LIMIT]):
        read = _relayed(entry, seen)
        if read is None:
            odd.append(f"what is at {number} has no id or no kind that is known")
        else:
            found.setdefault(read.told.notice.id, read)
    return Word(tuple(found.values()), "; ".join(odd)[:_WORD_LIMIT_CHARS])


def added(text: str | None, told: ForInstance, node: Node, now: datetime) -> str | None:
    """Return the annotation with a notice in it; None where it is there already.

    Raises:
        SourceMalformed: A newer relay has written it, and this one would spoil it.
    """
    entries = _left(text, node)
    if any(entry.get("id") == told.notice.id for entry in entries):
        return None
    others = [entry for entry in entries if not _is_long_over(entry, now)]
    others.sort(key=lambda entry: str(entry.get("received_at")), reverse=True)
    kept = [_entry(told, node.boot_id), *others[: NOTICES_LIMIT - 1]]
    while len(written := _composed(node, kept)) > LIMIT_CHARS and len(kept) > 1:
        kept.pop()  # or nothing of it would be read
    return written


def _composed(node: Node, entries: list[dict[str, Any]]) -> str:
    document = {"schema": SCHEMA, "provider_id": node.provider_id, "notices": entries}
    return json.dumps(document, separators=(",", ":"))


def _entry(told: ForInstance, boot_id: str) -> dict[str, Any]:
    notice, booted = told.notice, told.over_if_booted_after
    words = list(notice.detail.items())[:_WORDS_LIMIT]
    return {
        "id": notice.id,
        "kind": notice.kind,
        "source": notice.source,
        "instance_id": told.instance_id,
        "action": notice.action,
        "received_at": rfc3339(notice.received.wall),
        "deadline": rfc3339(notice.deadline.wall) if notice.deadline else None,
        "over_if_booted_after": rfc3339(booted) if booted else None,
        "boot_id": boot_id,
        "detail": {name[:_WORD_LIMIT_CHARS]: said[:_WORD_LIMIT_CHARS] for name, said in words},
    }


def _document(text: str) -> Mapping[str, Any]:
    if len(text) > LIMIT_CHARS:
        raise SourceMalformed(f"relayed notices: longer than {LIMIT_CHARS} characters")
    document = decoded(text, "relayed notices")
    if not isinstance(document, dict):
        raise SourceMalformed(f"relayed notices: no object: {text[:64]!r}")
    return document


def _left(text: str | None, node: Node) -> list[dict[str, Any]]:
    """Return what an annotation holds; nothing where it is of no use to the node either."""
    try:
        document = _document(text or "{}")
    except SourceMalformed:
        return []
    schema = document.get("schema", SCHEMA)
    if isinstance(schema, int) and schema > SCHEMA:
        raise SourceMalformed(f"relayed notices: schema {schema} is a newer relay's than this one")
    entries = document.get("notices")
    if document.get("provider_id") != node.provider_id or not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]


def _is_long_over(entry: Mapping[str, Any], now: datetime) -> bool:
    kind = _kind(entry)
    ends, said = (rfc3339_instant(entry.get(name)) for name in ("deadline", "received_at"))
    return kind is not None and _is_over(kind, ends, said, now)


def _is_over(kind: NoticeKind, ends: datetime | None, said: datetime | None, now: datetime) -> bool:
    after_s, last = OVER_AFTER_S.get(kind), ends or said
    return after_s is not None and last is not None and now > last + timedelta(seconds=after_s)


def _relayed(entry: object, seen: Moment) -> Relayed | None:
    """Return one notice; None where it is unknown which."""
    if not isinstance(entry, dict):
        return None
    kind, told = _kind(entry), word(entry.get("id"), _WORD_LIMIT_CHARS)
    if kind is None or not told:
        return None
    odd: list[str] = []
    ends, said, booted = (
        _instant(name, entry, odd) for name in ("deadline", "received_at", "over_if_booted_after")
    )
    instance_id = word(entry.get("instance_id"), _WORD_LIMIT_CHARS)
    given = entry.get("detail")
    words = dict(list(given.items())[:_WORDS_LIMIT]) if isinstance(given, dict) else {}
    odd += [words["malformed"]] if isinstance(words.get("malformed"), str) else []
    words |= {"relayed_from": entry.get("source"), "relayed_at": entry.get("received_at")}
    notice = Notice(
        id=notice_id(PREFIX, told),
        kind=kind,
        source=KUBERNETES_NODE,
        received=seen,
        deadline=Deadline.stated(ends, seen=seen, longest_s=LONGEST_S[kind]) if ends else None,
        action=word(entry.get("action"), _WORD_LIMIT_CHARS),
        instance_id=instance_id,
        detail=detail({name: word(one, _WORD_LIMIT_CHARS) for name, one in words.items()}, odd),
    )
    addressed = ForInstance(
        notice=notice, instance_id=instance_id or "", over_if_booted_after=booted
    )
    return Relayed(addressed, word(entry.get("boot_id"), _WORD_LIMIT_CHARS) or "", said)


def _kind(entry: Mapping[str, Any]) -> NoticeKind | None:
    said = entry.get("kind")
    return NoticeKind(said) if isinstance(said, str) and said in LONGEST_S else None


def _instant(name: str, entry: Mapping[str, Any], odd: list[str]) -> datetime | None:
    said = entry.get(name)
    read = rfc3339_instant(said)
    if read is None and said is not None:
        odd.append(shown(name, entry))
    return read
