"""The label that asks for another Node: once, when it is time, and as it was afterwards."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.kube.patches import MERGE, patched
from tests.support.standings import in_force
from watcher.actions.node_asking import Asked
from watcher.actions.node_plan import Beside, Step, Wanted, left_on, plan
from watcher.actions.node_state import Done, NodeState, compose, parse
from watcher.kube.keys import STATE
from watcher.kube.objects import node_of
from watcher.kube.replacement import PRESETS, AskPlace, ask_of
from watcher.notice import NoticeKind, Standing

HYPERPOD = PRESETS["hyperpod"]
KEY, VALUE = HYPERPOD.key, HYPERPOD.value


def _request(reason: str = "straggler") -> Standing:
    standing = in_force("request-1", NoticeKind.NODE_REQUEST)
    return replace(standing, notice=replace(standing.notice, detail={"reason": reason}))


WANTED: Wanted = {Step.CORDON: _request(), Step.REPLACE: _request()}
TIME = Beside(ask=HYPERPOD, is_time=True)


def _node(**labels: str) -> dict[str, Any]:
    meta = {"name": "n", "uid": "u", "resourceVersion": "1", "annotations": {"theirs": "x"}}
    return {"metadata": {**meta, "labels": dict(labels)}, "spec": {"providerID": "x"}}


def _after(obj: dict[str, Any], wanted: Wanted, beside: Beside = TIME) -> dict[str, Any]:
    patch = plan(node_of(obj), wanted, "boot-1", beside).patch
    if patch is None:
        return obj
    return patched(obj, MERGE, json.dumps(patch).encode(), is_forced=False)


def _labels(obj: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = obj["metadata"]["labels"]
    return labels


@pytest.mark.parametrize("before", [{}, {KEY: "Schedulable"}])
def test_label_is_as_it_was_when_nothing_is_wanted_any_more(before: dict[str, str]) -> None:
    """HyperPod's is always there; others are there only when somebody asks."""
    found = _node(**before, other="x")
    asked = _after(found, WANTED)
    assert _labels(asked) == {KEY: VALUE, "other": "x"}
    assert plan(node_of(asked), WANTED, "boot-1", TIME).patch is None
    assert _after(asked, {}) == found


def test_label_waits_until_it_is_time() -> None:
    """The rest of the Node does not."""
    made = _after(_node(), WANTED, replace(TIME, is_time=False))
    assert _labels(made) == {}
    assert node_of(made).is_unschedulable
    assert _labels(_after(made, WANTED)) == {KEY: VALUE}


@pytest.mark.parametrize("later", [{}, {KEY: "Unschedulable"}])
def test_label_is_not_put_on_again_when_its_reader_has_changed_it(later: dict[str, str]) -> None:
    """GKE takes off what it could not do; and what another has written since stays."""
    made = _after(_node(), WANTED)
    made["metadata"]["labels"] = dict(later)
    assert plan(node_of(made), WANTED, "boot-1", TIME).patch is None
    assert _labels(_after(made, {})) == later


def test_label_of_somebody_else_is_left_when_it_says_so_before() -> None:
    """HyperPod has found the node wrong itself."""
    found = _node(**{KEY: VALUE})
    made = _after(found, WANTED)
    left = left_on(node_of(made))
    assert left is not None
    assert left.done.asked is None
    assert _labels(_after(made, {})) == {KEY: VALUE}


@pytest.mark.parametrize(
    ("reason", "value"), [("straggler", "PERFORMANCE"), ("digest", "SDC"), ("loss", "unspecified")]
)
def test_label_says_why_when_its_reader_tells_reasons_apart(reason: str, value: str) -> None:
    """As the trainer's request has it."""
    ask = PRESETS["gke"]
    made = _after(_node(), {Step.REPLACE: _request(reason)}, Beside(ask=ask, is_time=True))
    assert _labels(made) == {ask.key: value}


def test_label_is_taken_off_when_nobody_is_to_be_asked_any_more() -> None:
    """The settings were changed while it was there; it is still known to be ours."""
    made = _after(_node(), WANTED)
    assert _after(made, {}, Beside()) == _node()


@pytest.mark.parametrize("place", AskPlace)
def test_label_of_others_is_left_when_the_annotation_claims_it(place: AskPlace) -> None:
    """Whoever may write the annotation gains nothing by it."""
    claim = Asked(place=place, key="team/quota", value="1", before="9")
    state = NodeState(boot_id="boot-1", notice={"id": "x"}, done=Done(asked=claim))
    found = _node(**{"team/quota": "1"})
    found["metadata"]["annotations"][STATE] = compose(state)
    made = _after(found, {})
    assert _labels(made) == {"team/quota": "1"}
    assert STATE not in made["metadata"]["annotations"]


def test_label_of_ones_own_is_taken_off_like_a_presets() -> None:
    """As long as it is set."""
    ask = ask_of("label:team/replace=yes")
    made = _after(_node(), WANTED, Beside(ask=ask, is_time=True))
    assert _labels(made) == {"team/replace": "yes"}
    assert _after(made, {}, Beside(ask=ask)) == _node()


def test_condition_is_noted_and_in_no_patch() -> None:
    """It is written through the status, after it was noted."""
    ask = ask_of("condition:NodeFaulty=True")
    made = _after(_node(), WANTED, Beside(ask=ask, is_time=True))
    left = left_on(node_of(made))
    assert left is not None
    assert left.done.asked == Asked(place=AskPlace.CONDITION, key="NodeFaulty", value="True")
    assert _labels(made) == {}


@pytest.mark.parametrize(
    "damage",
    [
        {},
        [],
        "x",
        {"place": "spec", "key": "a", "value": "b", "before": None},
        {"place": "label", "key": 1, "value": "b", "before": None},
        {"place": "label", "key": "a", "value": "b", "before": 1},
        {"place": "label", "key": "a", "value": "b"},
    ],
)
def test_annotation_says_nothing_when_what_was_asked_is_damaged(damage: object) -> None:
    """Of a newer daemon, or written by hand."""
    made = json.loads(_after(_node(), WANTED)["metadata"]["annotations"][STATE])
    assert parse(json.dumps(made)) is not None
    assert parse(json.dumps(made | {"asked": damage})) is None
