"""The patch that makes the Node what the notices in force want, and as it was afterwards."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.kube.patches import MERGE, patched
from tests.support.standings import in_force
from watcher.actions.node_plan import Beside, Step, Wanted, plan
from watcher.kube.keys import NO_LOAD_BALANCER, RECLAIM, STATE
from watcher.kube.objects import node_of
from watcher.notice import NoticeKind

THEIRS = {"key": "team/gpu", "value": "a100", "effect": "NoExecute", "timeAdded": "2026-11-30"}
OURS = {"key": RECLAIM, "value": "preemption", "effect": "NoSchedule"}
LAST = {**OURS, "effect": "NoExecute"}
BARE: dict[str, Any] = {"metadata": {"name": "n", "uid": "u", "resourceVersion": "1"}}

ALL: Wanted = dict.fromkeys(Step, in_force())


def _node(
    *,
    is_cordoned: bool = False,
    taints: tuple[Mapping[str, str], ...] = (),
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    meta = {**BARE["metadata"], "labels": dict(labels or {}), "annotations": {"theirs": "x"}}
    spec: dict[str, Any] = {"providerID": "x"}
    if is_cordoned:
        spec["unschedulable"] = True
    if taints:
        spec["taints"] = [dict(taint) for taint in taints]
    return {"metadata": meta, "spec": spec}


def _after(obj: dict[str, Any], wanted: Wanted, boot_id: str = "boot-1") -> dict[str, Any]:
    """Apply a plan as the API server does, and see that there is nothing more to be done."""
    patch = plan(node_of(obj), wanted, boot_id).patch
    made = obj if patch is None else patched(obj, MERGE, _json(patch), is_forced=False)
    assert plan(node_of(made), wanted, boot_id).patch is None
    return made


def _json(patch: Mapping[str, object]) -> bytes:
    return json.dumps(patch).encode()


def test_node_gets_all_that_is_wanted_in_one_patch() -> None:
    """And the annotation that says so is in the same."""
    made = node_of(_after(_node(taints=(THEIRS,)), ALL))
    assert made.is_unschedulable
    assert made.taints == (THEIRS, OURS, LAST)
    assert made.labels == {NO_LOAD_BALANCER: "true"}
    assert set(made.annotations) == {"theirs", STATE}


nodes = st.builds(
    _node,
    is_cordoned=st.booleans(),
    taints=st.lists(st.sampled_from([THEIRS, OURS, LAST]), unique_by=str, max_size=3).map(tuple),
    labels=st.sampled_from([{}, {"a": "b"}, {NO_LOAD_BALANCER: ""}]),
)
wants = st.lists(st.dictionaries(st.sampled_from(Step), st.just(in_force())), max_size=4)


@given(nodes, wants, st.sampled_from(["boot-1", "boot-2"]))
def test_node_is_exactly_as_it_was_when_nothing_is_wanted_any_more(
    found: dict[str, Any], wanted: list[Wanted], last_boot: str
) -> None:
    """Whatever it was, whatever was wanted meanwhile, and in whichever boot it ends."""
    made = found
    for one in wanted:
        made = _after(made, one)
    assert _after(made, {}, last_boot) == found


def test_cordon_of_somebody_else_is_kept_when_ours_is_undone() -> None:
    """As it was noted at the first of our patches, also over the next notice."""
    made = _after(_node(is_cordoned=True), ALL)
    made = _after(made, dict.fromkeys(Step, in_force("spot-2")))
    assert node_of(_after(made, {})).is_unschedulable


def test_taint_of_somebody_else_is_neither_doubled_nor_removed() -> None:
    """(key, effect) is there once; who put it there takes it off."""
    found = _node(taints=({**OURS, "value": "by-hand"},))
    made = node_of(_after(found, ALL))
    assert made.taints == ({**OURS, "value": "by-hand"}, LAST)


def test_taint_changes_its_value_when_another_notice_is_more_urgent() -> None:
    """It names the kind of the one that counts."""
    made = _after(_node(taints=(THEIRS,)), dict.fromkeys(Step, in_force(kind=NoticeKind.HARDWARE)))
    made = _after(made, ALL)
    assert node_of(made).taints == (THEIRS, OURS, LAST)


def test_cordon_that_is_ours_stays_when_the_node_comes_back_with_another_notice() -> None:
    """In a new boot the record goes on, so that the end of it is still the beginning."""
    made = _after(_after(_node(), ALL), ALL, "boot-2")
    assert node_of(made).is_unschedulable
    assert '"boot_id":"boot-2"' in made["metadata"]["annotations"][STATE]
    assert not node_of(_after(made, {}, "boot-2")).is_unschedulable


def test_human_uncordon_is_left_when_the_notice_is_withdrawn() -> None:
    """There is nothing of ours left to undo but the rest."""
    made = _after(_node(), ALL)
    del made["spec"]["unschedulable"]
    assert _after(made, {}) == _node()


@pytest.mark.parametrize("text", ["", '{"schema":2}'])
def test_annotation_that_we_can_not_read_is_left_alone(text: str) -> None:
    """It may be a newer daemon's, who knows what it has done; a notice puts ours in its place."""
    found = _node(is_cordoned=True)
    found["metadata"]["annotations"][STATE] = text
    assert plan(node_of(found), {}, "boot-1").patch is None
    assert _after(found, ALL)["metadata"]["annotations"][STATE] != text


def test_annotation_names_the_most_urgent_of_the_notices() -> None:
    """For people; the rest is in the condition and in Events."""
    far = in_force("far", left_s=900)
    wanted = {Step.CORDON: far, Step.TAINT: in_force("near")}
    made = _after(_node(), wanted)
    assert '"id":"near"' in made["metadata"]["annotations"][STATE]


def test_taint_that_ends_pods_comes_and_goes_beside_the_one_that_keeps_them_away() -> None:
    """Two taints of one key, each undone by itself."""
    both = _after(_node(taints=(THEIRS,)), ALL)
    first = _after(both, {step: one for step, one in ALL.items() if step is not Step.NO_EXECUTE})
    assert node_of(first).taints == (THEIRS, OURS)
    last = _after(both, {Step.NO_EXECUTE: in_force()})
    assert node_of(last).taints == (THEIRS, LAST)


def test_taint_of_ours_is_removed_when_somebody_has_taken_its_value() -> None:
    """It is ours by our own word, not by what it says."""
    made = _after(_node(), ALL)
    for taint in made["spec"]["taints"]:
        del taint["value"]
    assert _after(made, {}) == _node()


def test_annotation_says_when_it_is_undone_when_that_is_known() -> None:
    """The same text for as long as the same is wanted, or the Node would be patched for ever."""
    advice = in_force("advice", NoticeKind.REBALANCE)
    wanted = {Step.CORDON: advice}
    patch = plan(node_of(_node()), wanted, "boot-1", Beside(expiry=advice.expires)).patch
    assert patch is not None
    made = patched(_node(), MERGE, _json(patch), is_forced=False)
    assert plan(node_of(made), wanted, "boot-1", Beside(expiry=advice.expires)).patch is None
    assert '"expires_at":"2026-11-30T11:05:06Z"' in made["metadata"]["annotations"][STATE]


def test_annotation_says_that_the_node_is_drained_when_anything_is_noted_there() -> None:
    """For whoever waits for the machine to have nothing left to do; alone it is not written."""
    made = _after(_node(), ALL)
    patch = plan(node_of(made), ALL, "boot-1", Beside(is_drained=True)).patch
    assert patch is not None
    drained = patched(made, MERGE, _json(patch), is_forced=False)
    assert '"drained":true' in drained["metadata"]["annotations"][STATE]
    assert plan(node_of(drained), ALL, "boot-1", Beside(is_drained=True)).patch is None
    assert plan(node_of(_node()), {}, "boot-1", Beside(is_drained=True)).patch is None
