"""What has to be written to the Node so that it is as the notices in force want it; pure.

Both directions are one: the Node shows the whole state and not one notice. So a retry that comes
late brings nothing back, of two notices the last one undoes, and a run that was cut off is ended by
the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from watcher.actions.node_asking import Asked, asked, labels_of, put_on, take_off
from watcher.actions.node_state import NOTHING, Done, NodeState, compose, parse
from watcher.kube.keys import NO_LOAD_BALANCER, RECLAIM, STATE
from watcher.kube.objects import Node
from watcher.kube.replacement import Ask
from watcher.notice import Deadline, Standing, rfc3339


class Step(StrEnum):
    """One thing that is done to the Node, by the name of its action."""

    MARK = "node_mark"
    CORDON = "cordon"
    TAINT = "taint"
    NO_EXECUTE = "no_execute"
    EXCLUDE = "lb_exclusion"
    REPLACE = "node_replacement"


EFFECTS: Mapping[Step, str] = MappingProxyType(
    {Step.TAINT: "NoSchedule", Step.NO_EXECUTE: "NoExecute"}
)
"""What our taints do: the first keeps pods away and ends none, the second ends all that it can."""

Wanted = Mapping[Step, Standing]
"""What is wanted, each for the most urgent notice in force that wants it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a plan goes by beside what is wanted."""

    expiry: Deadline | None = None
    """When nothing will be wanted any more, if that is known."""
    is_drained: bool = False
    """Whether the Node's pods are gone."""
    ask: Ask | None = None
    """How another Node is asked for, if at all."""
    is_time: bool = False
    """Whether it is asked for now; else it is only left as it is, or undone."""


NOTHING_BESIDE = Beside()


@dataclass(frozen=True, slots=True)
class Plan:
    """What the Node is to be, and the merge patch that makes it so."""

    done: Done
    patch: Mapping[str, object] | None
    """None where it is so already."""


def left_on(node: Node) -> NodeState | None:
    """Return what was done to the Node before, in this boot or an earlier one."""
    return parse(node.annotations.get(STATE))


def plan(node: Node, wanted: Wanted, boot_id: str, beside: Beside = NOTHING_BESIDE) -> Plan:
    """Return how the Node becomes what is wanted, and is otherwise as it was found.

    Args:
        node: The Node as it is.
        wanted: What is wanted, if anything.
        boot_id: This boot's.
        beside: What else it goes by.
    """
    left = left_on(node)
    before = left.done if left else NOTHING
    spec: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    tainted = _taints(node, before, spec, wanted)
    done = Done(
        was_unschedulable=_cordon(node, before, spec, is_wanted=Step.CORDON in wanted),
        taint=tainted[Step.TAINT],
        no_execute=tainted[Step.NO_EXECUTE],
        is_excluded=_exclude(node, before, meta, is_wanted=Step.EXCLUDE in wanted),
        is_marked=Step.MARK in wanted,
        asked=_ask(node, before.asked, meta, (wanted.get(Step.REPLACE), beside)),
    )
    state = _state(wanted, boot_id, done, beside.expiry)
    text = compose(replace(state, is_drained=beside.is_drained)) if state else None
    # One that we can't read is not ours to remove: it may be of a newer daemon.
    is_known = left is not None or STATE not in node.annotations
    if node.annotations.get(STATE) != text and (text is not None or is_known):
        meta["annotations"] = {STATE: text}
    parts = {"metadata": meta, "spec": spec}
    return Plan(done, {name: part for name, part in parts.items() if part} or None)


def _state(wanted: Wanted, boot_id: str, done: Done, expiry: Deadline | None) -> NodeState | None:
    if not wanted:
        return None
    first = min(wanted.values(), key=lambda standing: standing.rank)
    deadline = first.notice.deadline
    notice = {
        "id": first.notice.id,
        "kind": first.notice.kind.value,
        "deadline": rfc3339(deadline.wall) if deadline else None,
    }
    expires = expiry.wall if expiry else None
    return NodeState(boot_id=boot_id, notice=notice, done=done, expires=expires)


def _cordon(node: Node, before: Done, spec: dict[str, Any], *, is_wanted: bool) -> bool | None:
    was = before.was_unschedulable
    if is_wanted:
        if not node.is_unschedulable:
            spec["unschedulable"] = True
        return node.is_unschedulable if was is None else was
    if was is False and node.is_unschedulable:
        spec["unschedulable"] = None
    return None


def _taints(
    node: Node, before: Done, spec: dict[str, Any], wanted: Wanted
) -> Mapping[Step, str | None]:
    """Add, change or remove our taints, and carry every other one as it is; return their values."""
    taints, values = list(node.taints), {}
    left = {Step.TAINT: before.taint, Step.NO_EXECUTE: before.no_execute}
    for step, effect in EFFECTS.items():
        found = next((one for one in taints if _is_ours(one, effect)), None)
        is_ours = left[step] is not None or found is None  # else who put it there takes it off
        standing = wanted.get(step)
        has = None if found is None else found.get("value", "")
        value = values[step] = standing.notice.kind.value if standing and is_ours else None
        if is_ours and has != value:
            taints = [one for one in taints if one is not found]
            if value is not None:
                taints.append({"key": RECLAIM, "value": value, "effect": effect})
    if taints != list(node.taints):
        spec["taints"] = taints or None
    return values


def _is_ours(taint: Mapping[str, str], effect: str) -> bool:
    return (taint.get("key"), taint.get("effect")) == (RECLAIM, effect)


def _exclude(node: Node, before: Done, meta: dict[str, Any], *, is_wanted: bool) -> bool:
    is_there = NO_LOAD_BALANCER in node.labels
    if is_wanted:
        if not is_there:
            meta["labels"] = {NO_LOAD_BALANCER: "true"}
        return before.is_excluded or not is_there
    if before.is_excluded and is_there:
        meta["labels"] = {NO_LOAD_BALANCER: None}
    return False


def _ask(
    node: Node, before: Asked | None, meta: dict[str, Any], why: tuple[Standing | None, Beside]
) -> Asked | None:
    """Ask for another Node once it is time, or take that back; return what is asked then."""
    standing, beside = why
    if standing is None:
        if before is not None:
            take_off(node, before, labels_of(beside.ask), meta)
        return None
    if before is not None or beside.ask is None or not beside.is_time:
        return before
    new = asked(node, beside.ask, standing.notice.detail.get("reason", ""))
    if new is not None:
        put_on(new, meta)
    return new
