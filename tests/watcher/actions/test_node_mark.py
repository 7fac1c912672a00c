"""The mark: annotation, condition and Events, for people and controllers."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.refusals import internal
from tests.support.node_actions import NodeActions, node_actions
from tests.support.standings import in_force
from watcher.errors import ActionRetryable
from watcher.notice import NoticeKind

SPOT = in_force()


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[NodeActions]:
    """Run the actions on a Node."""
    async with node_actions(tmp_path) as at:
        yield at


async def test_mark_says_what_is_coming_and_until_when(at: NodeActions) -> None:
    """On the Node, and once among its Events, however often it is tried."""
    for _ in range(2):
        await at.run(SPOT, at.mark)
    text = at.annotation()
    assert text is not None
    assert json.loads(text)["notice"] == {
        "id": "spot-1",
        "kind": "preemption",
        "deadline": "2026-11-30T10:07:06Z",
    }
    condition = at.condition()
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("True", "Preemption")
    assert "2026-11-30T10:07:06Z" in condition["message"]
    assert [event["reason"] for event in at.cluster.events()] == ["ReclaimPending"]


async def test_mark_is_taken_off_when_the_notice_is_withdrawn(at: NodeActions) -> None:
    """The Events stay, with one more that says so."""
    before = at.node()
    await at.run(SPOT, at.mark)
    await at.undo(SPOT, at.mark)
    assert at.node() == before
    reasons = sorted(event["reason"] for event in at.cluster.events())
    assert reasons == ["ReclaimPending", "ReclaimWithdrawn"]


async def test_events_say_how_soon_the_notice_was_answered(at: NodeActions) -> None:
    """The node that it was about may be gone before anybody has read its metrics."""
    await at.run(SPOT, at.mark)
    [entry] = at.state.entries()
    entry.stages.update({"flag": 0.004, "stopped": 1.25})
    await at.undo(SPOT, at.mark)
    said = {event["reason"]: event["message"] for event in at.cluster.events()}
    assert said["ReclaimWithdrawn"].endswith(": withdrawn; flag after 0.00 s, stopped after 1.25 s")
    assert said["ReclaimPending"].endswith("heard by test)")


async def test_condition_tells_of_the_next_notice_when_the_first_is_withdrawn(
    at: NodeActions,
) -> None:
    """As long as there is one."""
    later = in_force("maintenance-1", NoticeKind.MAINTENANCE, left_s=600)
    await at.run(SPOT, at.mark)
    await at.run(later, at.mark)
    condition = at.condition()
    assert condition is not None
    assert condition["reason"] == "Preemption"
    await at.undo(SPOT, at.mark)
    condition = at.condition()
    assert condition is not None
    assert condition["reason"] == "Maintenance"


async def test_condition_is_taken_off_before_the_annotation_that_tells_of_it(
    at: NodeActions,
) -> None:
    """Cut off between the two, the next attempt still knows of it; also that of another boot."""
    before = at.node()
    await at.run(SPOT)
    at.own.server.faults.add(internal("etcd"), verb="patch", resource="nodes")
    with pytest.raises(ActionRetryable):
        await at.undo(SPOT, at.mark)
    assert at.condition() is None
    assert at.annotation() is not None
    at.own.server.faults.lift()
    await NodeActions(at.own, "boot-2").desk.keep()
    assert at.node() == before


async def test_event_is_there_once_when_its_answer_was_lost(at: NodeActions) -> None:
    """The next attempt finds it."""
    at.own.server.faults.add(Trouble.LOST, resource="events", times=1)
    with pytest.raises(ActionRetryable):
        await at.run(SPOT, at.mark)
    await at.run(SPOT, at.mark)
    assert len(at.cluster.events()) == 1


async def test_condition_that_comes_late_is_not_put_on_when_the_notice_is_withdrawn(
    at: NodeActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is under way when the notice is withdrawn: the end of it comes after it all the same."""
    before, put_on = at.node(), at.desk.api.set_condition
    under_way, may_go_on = asyncio.Event(), asyncio.Event()

    async def held_up(condition: Mapping[str, str]) -> None:
        under_way.set()
        await may_go_on.wait()
        await put_on(condition)

    monkeypatch.setattr(at.desk.api, "set_condition", held_up)
    running = asyncio.create_task(at.run(SPOT, at.mark))
    await under_way.wait()
    undoing = asyncio.create_task(at.undo(SPOT, at.mark))
    await asyncio.wait({undoing}, timeout=0.2)  # all the time that it takes if nothing holds it up
    may_go_on.set()
    await asyncio.gather(running, undoing)
    assert at.node() == before
