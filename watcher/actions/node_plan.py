"""What has to be written to the Node so that it is as the notices in force want it; pure.

Both directions are one: the Node shows the whole state and not one notice. So a retry that comes
late brings nothing back, of two notices the last one undoes, and a run that was cut off is ended by
the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from watcher.actions.node_state import NOTHING, Done, NodeState, compose, parse
from watcher.kube.keys import NO_LOAD_BALANCER, RECLAIM, STATE
from watcher.kube.objects import Node
from watcher.notice import Standing, rfc3339

EFFECT = "NoSchedule"
"""What is added to the Node at once: it keeps pods away, and ends none."""


class Step(StrEnum):
    """One thing that is done to the Node, by the name of its action."""

    MARK = "node_mark"
    CORDON = "cordon"
    TAINT = "taint"
    EXCLUDE = "lb_exclusion"


Wanted = Mapping[Step, Standing]
"""What is wanted, each for the most urgent notice in force that wants it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the Node is to be, and the merge patch that makes it so."""

    done: Done
    patch: Mapping[str, object] | None
    """None where it is so already."""


def left_on(node: Node) -> NodeState | None:
    """Return what was done to the Node before, in this boot or an earlier one."""
    return parse(node.annotations.get(STATE))


def plan(node: Node, wanted: Wanted, boot_id: str) -> Plan:
    """Return how the Node becomes what is wanted, and is otherwise as it was found."""
    left = left_on(node)
    before = left.done if left else NOTHING
    spec: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    done = replace(
        before,
        was_unschedulable=_cordon(node, before, spec, is_wanted=Step.CORDON in wanted),
        taint=_taint(node, before, spec, wanted.get(Step.TAINT)),
        is_excluded=_exclude(node, before, meta, is_wanted=Step.EXCLUDE in wanted),
        is_marked=Step.MARK in wanted,
    )
    text = _annotation(wanted, boot_id, done)
    # One that we can't read is not ours to remove: it may be of a newer daemon.
    is_known = left is not None or STATE not in node.annotations
    if node.annotations.get(STATE) != text and (text is not None or is_known):
        meta["annotations"] = {STATE: text}
    parts = {"metadata": meta, "spec": spec}
    return Plan(done, {name: part for name, part in parts.items() if part} or None)


def _annotation(wanted: Wanted, boot_id: str, done: Done) -> str | None:
    if not wanted:
        return None
    first = min(wanted.values(), key=lambda standing: standing.rank)
    deadline = first.notice.deadline
    notice = {
        "id": first.notice.id,
        "kind": first.notice.kind.value,
        "deadline": rfc3339(deadline.wall) if deadline else None,
    }
    return compose(NodeState(boot_id=boot_id, notice=notice, done=done))


def _cordon(node: Node, before: Done, spec: dict[str, Any], *, is_wanted: bool) -> bool | None:
    was = before.was_unschedulable
    if is_wanted:
        if not node.is_unschedulable:
            spec["unschedulable"] = True
        return node.is_unschedulable if was is None else was
    if was is False and node.is_unschedulable:
        spec["unschedulable"] = None
    return None


def _taint(node: Node, before: Done, spec: dict[str, Any], wanted: Standing | None) -> str | None:
    """Add, change or remove our taint, and carry every other one as it is."""
    others = [one for one in node.taints if not _is_ours(one)]
    found = next((one for one in node.taints if _is_ours(one)), None)
    if wanted is None:
        if before.taint is not None and found is not None:
            spec["taints"] = others or None
        return None
    if found is not None and before.taint is None:
        return None  # somebody else has put it there, and takes it off
    value = wanted.notice.kind.value
    if found is None or found.get("value") != value:
        spec["taints"] = [*others, {"key": RECLAIM, "value": value, "effect": EFFECT}]
    return value


def _is_ours(taint: Mapping[str, str]) -> bool:
    return (taint.get("key"), taint.get("effect")) == (RECLAIM, EFFECT)


def _exclude(node: Node, before: Done, meta: dict[str, Any], *, is_wanted: bool) -> bool:
    is_there = NO_LOAD_BALANCER in node.labels
    if is_wanted:
        if not is_there:
            meta["labels"] = {NO_LOAD_BALANCER: "true"}
        return before.is_excluded or not is_there
    if before.is_excluded and is_there:
        meta["labels"] = {NO_LOAD_BALANCER: None}
    return False
