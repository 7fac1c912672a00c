"""What the Node says of what we have done to it: the annotation, version 1; pure.

It is written in the same patch as what it tells of, so that neither is ever there alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from watcher.actions.node_asking import Asked, asked_of, document_of
from watcher.notice import rfc3339

SCHEMA = 1

_LIMIT_CHARS = 16 * 1024
_DAMAGE = (AttributeError, KeyError, OverflowError, TypeError, ValueError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was done, with what has to be known to undo it."""

    was_unschedulable: bool | None = None
    """How the Node was before we cordoned it; None if we have not."""
    taint: str | None = None
    """The value of the taint that keeps pods away, if we have added it; None if not."""
    no_execute: str | None = None
    """The value of the taint that ends pods, likewise."""
    is_excluded: bool = False
    """Whether we have put on the label that takes it out of load balancers."""
    is_marked: bool = False
    """Whether we may have put the condition on."""
    asked: Asked | None = None
    """By what we have asked for another Node; None if we have not."""


NOTHING = Done()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """The whole annotation."""

    boot_id: str
    """The boot in which it was done: after another one the Node is back."""
    notice: Mapping[str, str | None]
    """The most urgent notice for which it was done: id, kind and deadline."""
    done: Done
    expires: datetime | None = None
    """When it is to be undone, whoever is still in force by then; None if that is not known."""
    is_drained: bool = False
    """Whether its pods are gone, but for those of DaemonSets."""


def compose(state: NodeState) -> str:
    """Return the annotation's value."""
    done = state.done
    document = {
        "schema": SCHEMA,
        "boot_id": state.boot_id,
        "notice": dict(state.notice),
        "was_unschedulable": done.was_unschedulable,
        "taint": done.taint,
        "no_execute": done.no_execute,
        "excluded_from_load_balancers": done.is_excluded,
        "marked": done.is_marked,
        "asked": document_of(done.asked),
        "expires_at": rfc3339(state.expires) if state.expires else None,
        "drained": state.is_drained,
    }
    return json.dumps(document, separators=(",", ":"))


def parse(text: str | None) -> NodeState | None:
    """Return what an annotation says; None where it says nothing that we understand.

    Whoever can write a Node can write this, and gains nothing: at most what is ours is left alone
    or taken off.
    """
    if text is None or len(text) > _LIMIT_CHARS:
        return None
    try:
        return _state(json.loads(text))
    except _DAMAGE:
        return None


def _state(document: Any) -> NodeState | None:  # noqa: ANN401 - whatever JSON it was
    if document["schema"] != SCHEMA:
        return None
    before, notice, boot_id = (document[key] for key in ("was_unschedulable", "notice", "boot_id"))
    # What has come later than the first version of this may be missing.
    marks = [document["excluded_from_load_balancers"], document["marked"]]
    flags = [*marks, document.get("drained", False)]
    taints = [document["taint"], document.get("no_execute")]
    if not (before is None or isinstance(before, bool)) or not isinstance(boot_id, str):
        return None
    if not all(isinstance(flag, bool) for flag in flags):
        return None
    if not all(taint is None or isinstance(taint, str) for taint in taints):
        return None
    return NodeState(
        boot_id=boot_id,
        notice={str(key): value for key, value in notice.items()},
        done=Done(
            was_unschedulable=before,
            taint=taints[0],
            no_execute=taints[1],
            is_excluded=flags[0],
            is_marked=flags[1],
            asked=asked_of(document.get("asked")),
        ),
        expires=_instant(document.get("expires_at")),
        is_drained=flags[2],
    )


def _instant(text: Any) -> datetime | None:  # noqa: ANN401 - as above
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)
