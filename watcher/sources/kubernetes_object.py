"""The marks on a Node object, and the notices that they are. Pure."""

from collections.abc import Mapping
from typing import Any

from watcher.actions.node_plan import left_on
from watcher.kube.answers import JsonObject
from watcher.kube.objects import Node
from watcher.kube.replacement import Ask
from watcher.notice import Deadline, Moment, Notice
from watcher.sources.kubernetes_marks import KUBERNETES_NODE, Mark, Place, Row, row_of
from watcher.sources.kubernetes_windows import LONGEST_S
from watcher.sources.words import detail, notice_id

_HARD = ("NoSchedule", "NoExecute")
"""Effects of a taint that is meant: cluster autoscaler puts a soft one, PreferNoSchedule, on every
node that it merely thinks about."""

_WORD_LIMIT_CHARS = 256


def marks_of(obj: JsonObject) -> tuple[Mark, ...]:
    """Return every hard taint, label and condition on a Node that :func:`node_of` could read."""
    meta, spec, status = (_part(obj, name) for name in ("metadata", "spec", "status"))
    taints = (
        Mark(place=Place.TAINT, key=_text(one, "key"), value=_text(one, "value"))
        for one in _list(spec, "taints")
        if one.get("effect") in _HARD
    )
    labels = (
        Mark(place=Place.LABEL, key=key, value=value)
        for key, value in _part(meta, "labels").items()
        if isinstance(value, str)
    )
    conditions = (
        Mark(
            place=Place.CONDITION,
            key=_text(one, "type"),
            value=_text(one, "status"),
            message=_text(one, "message"),
            since=_text(one, "lastTransitionTime"),
        )
        for one in _list(status, "conditions")
    )
    return (*taints, *labels, *conditions)


def read_marks(
    obj: JsonObject, node: Node, boot_id: str, seen: Moment, ask: Ask | None = None
) -> tuple[Notice, ...]:
    """Return the notices that the marks on a Node are, each once.

    Args:
        obj: The Node as it came over the wire.
        node: The same, read.
        boot_id: This boot's: a condition of another one is of what the machine was then.
        seen: When it came.
        ask: How we ask for another Node, if at all: that would come back as a notice of the notice.
    """
    is_of_this_boot = node.boot_id in ("", boot_id)
    ours = _asked(node, ask)
    found: dict[str, Notice] = {}
    for mark in marks_of(obj):
        row = row_of(mark)
        if row is None or (mark.place, mark.key, mark.value) == ours:
            continue
        if mark.place is Place.CONDITION and not is_of_this_boot:
            continue
        notice = _notice(row, mark, node, seen)
        found.setdefault(notice.id, notice)
    return tuple(found.values())


def _asked(node: Node, ask: Ask | None) -> tuple[str, str, str] | None:
    """Return the mark that is our own question, by what is set and by what is noted on the Node."""
    left = left_on(node)
    asked = None if left is None else left.done.asked
    if ask is None or asked is None or (asked.place, asked.key) != (ask.place, ask.key):
        return None
    return asked.place.value, asked.key, asked.value


def _notice(row: Row, mark: Mark, node: Node, seen: Moment) -> Notice:
    due = row.due(mark) if row.due else None
    stated = None if due is None else Deadline.stated(due, seen=seen, longest_s=LONGEST_S[row.kind])
    odd = [f"{mark.message or mark.value!r:.80} names no time"] if row.due and not due else []
    words = {mark.place.value: mark.key, "value": mark.value, "message": mark.message}
    return Notice(
        id=notice_id("kubernetes", node.uid, mark.place, mark.key, mark.value),
        kind=row.kind,
        source=KUBERNETES_NODE,
        received=seen,
        deadline=stated,
        action=mark.key[:_WORD_LIMIT_CHARS],
        detail=detail({name: word[:_WORD_LIMIT_CHARS] for name, word in words.items()}, odd),
    )


def _part(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def _list(obj: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = obj.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(obj: Mapping[str, Any], name: str) -> str:
    found = obj.get(name)
    return found if isinstance(found, str) else ""
