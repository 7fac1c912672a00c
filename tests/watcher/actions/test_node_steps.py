"""Cordon, taint and load-balancer label: what each does, says and undoes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN, Rule, Subject
from tests.support.node_actions import NodeActions, node_actions
from tests.support.own_node import NODE
from tests.support.standings import admitted, in_force, withdrawn
from watcher.errors import ActionDryRun
from watcher.kube.keys import NO_LOAD_BALANCER, RECLAIM
from watcher.notice import NoticeKind

SPOT = in_force()
LATER = in_force("asg-1", NoticeKind.TERMINATION, left_s=600)
THEIRS = {"key": RECLAIM, "value": "by-hand", "effect": "NoSchedule"}


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[NodeActions]:
    """Run the actions on a Node."""
    async with node_actions(tmp_path) as at:
        yield at


async def test_node_is_exactly_as_it_was_when_the_notice_is_withdrawn(at: NodeActions) -> None:
    """All four actions, done and undone, twice each."""
    before = at.node()
    for _ in range(2):
        await at.run(SPOT)
    marked = at.node()
    assert marked["spec"]["unschedulable"] is True
    assert marked["spec"]["taints"] == [
        {"key": RECLAIM, "value": "preemption", "effect": "NoSchedule"}
    ]
    assert marked["metadata"]["labels"][NO_LOAD_BALANCER] == "true"
    for _ in range(2):
        await at.undo(SPOT)
    assert at.node() == before


async def test_what_others_have_done_is_left_when_the_notice_is_withdrawn(
    at: NodeActions,
) -> None:
    """Cordon, label and even our taint, and each action says so."""
    at.cluster.edit_node(NODE, unschedulable=True, taints=[THEIRS])
    at.cluster.mark_node(NODE, labels={NO_LOAD_BALANCER: ""})
    before = at.node()
    said = await at.run(SPOT, at.cordon, at.taint, at.exclude)
    assert all("before" in words for words in said)
    await at.undo(SPOT, at.cordon, at.taint, at.exclude)
    assert at.node() == before


async def test_step_stays_until_the_last_notice_that_wants_it_is_withdrawn(
    at: NodeActions,
) -> None:
    """And the taint names the kind of the most urgent one."""
    before = at.node()
    await at.run(LATER, at.cordon, at.taint)
    assert at.node()["spec"]["taints"][0]["value"] == "termination"
    await at.run(SPOT, at.cordon, at.taint)
    assert at.node()["spec"]["taints"][0]["value"] == "preemption"
    said = await at.undo(SPOT, at.cordon, at.taint)
    assert said == ["stays: another notice wants it"] * 2
    assert at.node()["spec"]["taints"][0]["value"] == "termination"
    assert at.node()["spec"]["unschedulable"] is True
    await at.undo(LATER, at.cordon, at.taint)
    assert at.node() == before


async def test_late_retry_brings_nothing_back_when_the_notice_is_withdrawn(
    at: NodeActions,
) -> None:
    """What counts is what is in force when the Node is read."""
    before = at.node()
    admitted(at.state, SPOT)
    withdrawn(at.state, SPOT)
    await at.cordon.undo(SPOT)
    await at.cordon.run(SPOT)
    assert at.node() == before


async def test_nothing_is_stored_when_it_is_a_dry_run(tmp_path: Path) -> None:
    """All up to the write is done: rights, policies and conflicts are found out."""
    async with node_actions(tmp_path, is_dry_run=True) as at:
        before = at.cluster.node(NODE)
        for action in at.all:
            with pytest.raises(ActionDryRun, match="would have"):
                await at.run(SPOT, action)
            with pytest.raises(ActionDryRun):
                await at.undo(SPOT, action)
        assert at.cluster.node(NODE) == before
        assert at.cluster.events() == []
        writes = [call for call in at.own.server.access.calls if call.verb != "get"]
        assert writes
        assert all(call.query["dryRun"] == "All" for call in writes)


async def test_steps_need_no_rights_but_those_that_the_docs_name(at: NodeActions) -> None:
    """An account that has these and no others does and undoes everything."""
    rules = (
        Rule(["get", "patch"], ["nodes"]),
        Rule(["patch"], ["nodes/status"]),
        Rule(["create"], ["events"], namespace="default"),
    )
    at.own.server.access.subjects[ADMIN] = Subject("reprieve", rules)
    before = at.node()
    await at.run(SPOT)
    await at.undo(SPOT)
    assert at.node() == before
    assert at.own.server.access.used("reprieve") == {
        (verb, "", resource) for rule in rules for verb in rule.verbs for resource in rule.resources
    }
