"""/v1/state: what the daemon knows, for people and programs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.clocks import TurnedClock
from tests.support.described import check_described
from tests.support.served_faces import served_faces
from watcher.actions.node_board import NodeBoard, NodeSeen, PodsSeen
from watcher.cloud import Cloud
from watcher.errors import SourceUnavailable
from watcher.faces.node_view import SHOWN_LIMIT
from watcher.faces.state_view import Sights, StateView
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.policy import stand
from watcher.state import ActionRecord, State
from watcher.trainers import Trainer, Trainers, TrainerState


async def shown(
    state: State,
    clock: TurnedClock,
    *,
    board: NodeBoard | None = None,
    said: Trainers = Trainers(),  # noqa: B008 - frozen
    blind_s: float | None = None,
) -> dict[str, Any]:
    """Ask for /v1/state of a daemon with one source, which may have been blind for so long."""
    health = SourceHealth("aws_imds", ("spot",), clock(), Metrics())
    health.answered("spot", "present", clock(), took_s=0.001)
    if blind_s is not None:
        error = SourceUnavailable("GET /spot: HTTP 403", outcome="forbidden")
        error.key = "spot"
        health.failed(error, clock())
        clock.turn(blind_s)

    async def look() -> Trainers:
        return said

    sights = Sights(healths=(health,), blind_limit_s=10.0, board=board, look=look)
    view = StateView("node-a", Cloud("aws", "proved by an id"), sights, state, clock)
    async with served_faces({"/v1/state": view.state}) as faces:
        status, body = await faces.ask("/v1/state")
    assert status == 200
    document: dict[str, Any] = json.loads(body)
    check_described("State", document)
    return document


async def test_state_shows_sources_and_no_notice_when_all_is_quiet(clock: TurnedClock) -> None:
    """The usual day."""
    document = await shown(State(), clock)
    assert (document["schema"], document["node"]) == (1, "node-a")
    assert document["cloud"] == {"name": "aws", "why": "proved by an id"}
    assert document["now_at"] == "2026-11-30T10:05:06Z"
    assert document["now_unix_s"] == 1796033106.0
    assert document["in_force"] == document["past"] == []
    assert document["ready"] is True
    assert document["kubernetes"] is None
    assert document["trainers"] == {"found": [], "refused": {}, "unknown": None}
    source = document["sources"]["aws_imds"]
    assert source["blind_since_at"] is None
    assert source["keys"]["spot"] == {
        "last_answer": "present",
        "answered_at": "2026-11-30T10:05:06Z",
        "answered_unix_s": 1796033106.0,
        "blind_since_at": None,
        "blind_since_unix_s": None,
        "why": "",
    }


async def test_state_shows_notices_and_what_was_done_when_there_are_some(
    clock: TurnedClock,
) -> None:
    """In force with its actions, and past with the moment of withdrawal."""
    state = State()
    spot = Notice(
        id="spot",
        kind=NoticeKind.PREEMPTION,
        source="aws_imds",
        received=clock(),
        deadline=Deadline.after(clock(), 120),
        action="terminate",
        detail={"time": "2026-11-30T10:07:06Z"},
    )
    entry = state.admit(stand(spot), clock())
    assert entry is not None
    entry.actions["flag_file"] = ActionRecord("done", clock(), "wrote it", 2)
    old = replace(spot, id="old", kind=NoticeKind.REBALANCE, deadline=None)
    state.admit(stand(old), clock())
    state.retire(old, clock())
    document = await shown(state, clock)
    (in_force,) = document["in_force"]
    assert (in_force["id"], in_force["urgency"], in_force["action"]) == (
        "spot",
        "stop",
        "terminate",
    )
    assert in_force["deadline_at"] == in_force["counts_until_at"] == "2026-11-30T10:07:06Z"
    assert in_force["withdrawn_at"] is None
    assert in_force["actions"]["flag_file"] == {
        "outcome": "done",
        "what": "wrote it",
        "attempts": 2,
        "tried_at": "2026-11-30T10:05:06Z",
        "tried_unix_s": 1796033106.0,
    }
    (past,) = document["past"]
    assert (past["id"], past["deadline_at"], past["deadline_unix_s"]) == ("old", None, None)
    assert past["counts_until_at"] == "2026-11-30T10:15:06Z"
    assert past["withdrawn_at"] == "2026-11-30T10:05:06Z"


@pytest.mark.parametrize(("blind_s", "is_ready"), [(10.0, True), (10.1, False)])
async def test_state_is_not_ready_when_a_source_is_blind_for_too_long(
    clock: TurnedClock, blind_s: float, *, is_ready: bool
) -> None:
    """As on /readyz, so that nobody takes an empty list for good news."""
    assert (await shown(State(), clock, blind_s=blind_s))["ready"] is is_ready


async def test_state_shows_node_and_pods_when_there_is_a_node(clock: TurnedClock) -> None:
    """Every pod is counted, and enough of them are named."""
    board = NodeBoard(clock)
    board.node = NodeSeen(
        at=clock(),
        name="node-a",
        is_unschedulable=True,
        is_cordoned_by_us=True,
        taints=("preemption:NoSchedule",),
    )
    board.pods = PodsSeen(
        at=clock(),
        to_evict=42,
        evicted=2,
        gone=1,
        held={f"team-a/pod-{number:02}": "its trainer is running" for number in range(40)},
        blocked={"team-a/web": "its budget"},
        forced=(),
    )
    kubernetes = (await shown(State(), clock, board=board))["kubernetes"]
    assert kubernetes["node"] == {
        "name": "node-a",
        "unschedulable": True,
        "cordoned_by_us": True,
        "taints": ["preemption:NoSchedule"],
        "seen_at": "2026-11-30T10:05:06Z",
        "seen_unix_s": 1796033106.0,
    }
    pods = kubernetes["pods"]
    assert (pods["to_evict"], pods["evicted"], pods["gone"], pods["held"]) == (42, 2, 1, 40)
    assert len(pods["held_by"]) == SHOWN_LIMIT
    assert pods["blocked_by"] == {"team-a/web": "its budget"}


async def test_state_shows_nothing_of_the_node_before_it_was_read(clock: TurnedClock) -> None:
    """And that there is one."""
    shown_now = await shown(State(), clock, board=NodeBoard(clock))
    assert shown_now["kubernetes"] == {"node": None, "pods": None}


async def test_state_shows_trainers_when_there_are_some(clock: TurnedClock) -> None:
    """By their own word, and how old that is."""
    trainer = Trainer(
        id="b",
        pod_uid="",
        state=TrainerState.RUNNING,
        heartbeat_s=clock().boottime_s - 11,
        step=1200,
        committed_step=1100,
        committed_at=clock().wall,
    )
    said = Trainers(
        found=(trainer, replace(trainer, id="a", pod_uid="7")),
        refused={"c.json": "no JSON"},
        unknown="too many",
    )
    trainers = (await shown(State(), clock, said=said))["trainers"]
    assert [one["id"] for one in trainers["found"]] == ["a", "b"]
    assert trainers["found"][1] == {
        "id": "b",
        "pod_uid": None,
        "state": "running",
        "alive": False,
        "heartbeat_age_s": 11.0,
        "step": 1200,
        "committed_step": 1100,
        "committed_at": "2026-11-30T10:05:06Z",
        "committed_unix_s": 1796033106.0,
    }
    assert (trainers["refused"], trainers["unknown"]) == ({"c.json": "no JSON"}, "too many")
