"""Which conditions are taken off the Node, and when it has to be read for that."""

import pytest

from tests.support.standings import in_force
from watcher.actions.node_asking import Asked
from watcher.actions.node_conditions import may_have_conditions, unwanted_conditions
from watcher.actions.node_plan import Step
from watcher.actions.node_state import Done, NodeState
from watcher.kube.keys import CONDITION
from watcher.kube.replacement import PRESETS, AskPlace, ask_of

ASK = ask_of("condition:NodeFaulty=True")
ASKED = Asked(place=AskPlace.CONDITION, key="NodeFaulty", value="True")
MARK, REPLACE = {Step.MARK: in_force()}, {Step.REPLACE: in_force()}


def _left(done: Done) -> NodeState:
    return NodeState(boot_id="boot-1", notice={}, done=done)


def test_conditions_are_taken_off_when_nothing_wants_them_any_more() -> None:
    """Each by itself."""
    left = _left(Done(is_marked=True, asked=ASKED))
    assert list(unwanted_conditions(left, {}, ASK)) == [CONDITION, "NodeFaulty"]
    assert list(unwanted_conditions(left, MARK, ASK)) == ["NodeFaulty"]
    assert list(unwanted_conditions(left, REPLACE, ASK)) == [CONDITION]
    assert list(unwanted_conditions(left, {**MARK, **REPLACE}, ASK)) == []


@pytest.mark.parametrize("left", [None, _left(Done()), _left(Done(is_marked=True))])
def test_condition_is_left_when_we_have_not_put_it_on(left: NodeState | None) -> None:
    """It may be somebody else's."""
    assert "NodeFaulty" not in list(unwanted_conditions(left, {}, ASK))


@pytest.mark.parametrize("setting", ["off", "hyperpod", "condition:Other=True"])
def test_condition_is_left_when_only_the_annotation_claims_it(setting: str) -> None:
    """Whoever can write that could have the kubelet's taken off."""
    assert list(unwanted_conditions(_left(Done(asked=ASKED)), {}, ask_of(setting))) == []


def test_node_is_read_for_conditions_only_when_there_may_be_one() -> None:
    """A notice that has just come waits for no call more."""
    assert not may_have_conditions(MARK, None)
    assert not may_have_conditions(MARK, PRESETS["hyperpod"])
    assert may_have_conditions(MARK, ASK)
    assert not may_have_conditions({**MARK, **REPLACE}, ASK)
    assert may_have_conditions({}, None)
