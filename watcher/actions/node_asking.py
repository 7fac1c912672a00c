"""The label by which another Node is asked for: put on once, taken off as it was found. Pure.

It is noted like all that is done to the Node, but written only when it is time and never again for
the same notice: who reads it may take it off, as GKE does with what it can't do.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from watcher.kube.objects import Node
from watcher.kube.replacement import KEYS, Ask, AskPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was written, with what has to be known to undo it."""

    place: AskPlace
    key: str
    value: str
    before: str | None = None
    """The label's value before; None where it was not there, and of a condition."""


def asked(node: Node, ask: Ask, reason: str) -> Asked | None:
    """Return what asks for another Node now; None where somebody else has asked before."""
    value = ask.value_for(reason)
    before = node.labels.get(ask.key) if ask.place is AskPlace.LABEL else None
    if before == value:
        return None
    return Asked(place=ask.place, key=ask.key, value=value, before=before)


def put_on(new: Asked, meta: dict[str, Any]) -> None:
    """Add the label to a patch; a condition is no part of one."""
    if new.place is AskPlace.LABEL:
        meta.setdefault("labels", {})[new.key] = new.value


def take_off(node: Node, old: Asked, known: Collection[str], meta: dict[str, Any]) -> None:
    """Add to a patch that the label is as it was found, if it is still as we have left it.

    Args:
        node: The Node as it is.
        old: What was noted. Whoever can write a Node can write that too.
        known: Labels that may be ours; any other one is left.
        meta: The patch's metadata.
    """
    is_label = old.place is AskPlace.LABEL and old.key in known
    if is_label and node.labels.get(old.key) == old.value:
        meta.setdefault("labels", {})[old.key] = old.before


def labels_of(ask: Ask | None) -> frozenset[str]:
    """Return the labels that may be ours: those of the presets, and what is set."""
    return KEYS | {ask.key} if ask is not None and ask.place is AskPlace.LABEL else KEYS


def document_of(old: Asked | None) -> dict[str, str | None] | None:
    """Return it as the annotation has it."""
    if old is None:
        return None
    return {"place": old.place.value, "key": old.key, "value": old.value, "before": old.before}


def asked_of(document: Mapping[str, Any] | None) -> Asked | None:
    """Read it from the annotation; raises KeyError, TypeError or ValueError."""
    if document is None:
        return None
    key, value, before = (document[name] for name in ("key", "value", "before"))
    if not all(isinstance(one, str) for one in (key, value, before or "")):
        raise TypeError("no text")
    return Asked(place=AskPlace(document["place"]), key=key, value=value, before=before)
