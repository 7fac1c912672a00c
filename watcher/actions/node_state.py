"""What the Node says of what we have done to it: the annotation, version 1; pure.

It is written in the same patch as what it tells of, so that neither is ever there alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA = 1

_LIMIT_CHARS = 16 * 1024
_DAMAGE = (AttributeError, KeyError, TypeError, ValueError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was done, with what has to be known to undo it."""

    was_unschedulable: bool | None = None
    """How the Node was before we cordoned it; None if we have not."""
    taint: str | None = None
    """The value of the taint that we have added; None if there is none of ours."""
    is_excluded: bool = False
    """Whether we have put on the label that takes it out of load balancers."""
    is_marked: bool = False
    """Whether we may have put the condition on."""


NOTHING = Done()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """The whole annotation."""

    boot_id: str
    """The boot in which it was done: after another one the Node is back."""
    notice: Mapping[str, str | None]
    """The notice for which it was done, for people: id, kind and deadline."""
    done: Done


def compose(state: NodeState) -> str:
    """Return the annotation's value."""
    done = state.done
    document = {
        "schema": SCHEMA,
        "boot_id": state.boot_id,
        "notice": dict(state.notice),
        "was_unschedulable": done.was_unschedulable,
        "taint": done.taint,
        "excluded_from_load_balancers": done.is_excluded,
        "marked": done.is_marked,
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
    before, taint, notice = (document[key] for key in ("was_unschedulable", "taint", "notice"))
    flags = [document["excluded_from_load_balancers"], document["marked"]]
    if not (before is None or isinstance(before, bool)) or not all(
        isinstance(flag, bool) for flag in flags
    ):
        return None
    if not (taint is None or isinstance(taint, str)) or not isinstance(document["boot_id"], str):
        return None
    return NodeState(
        boot_id=document["boot_id"],
        notice={str(key): value for key, value in notice.items()},
        done=Done(was_unschedulable=before, taint=taint, is_excluded=flags[0], is_marked=flags[1]),
    )
