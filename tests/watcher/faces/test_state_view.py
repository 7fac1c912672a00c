"""/v1/state: what the daemon knows, for people and programs."""

import json
from dataclasses import replace
from typing import Any

from tests.support.clocks import TurnedClock
from tests.support.served_faces import served_faces
from watcher.cloud import Cloud
from watcher.faces.state_view import StateView
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.policy import stand
from watcher.state import ActionRecord, State


async def shown(state: State, clock: TurnedClock) -> dict[str, Any]:
    """Ask for /v1/state."""
    health = SourceHealth("aws_imds", ("spot",), clock(), Metrics())
    health.answered("spot", "present", clock(), took_s=0.001)
    view = StateView("node-a", Cloud("aws", "proved by an id"), (health,), state, clock)
    async with served_faces({"/v1/state": view.state}) as faces:
        status, body = await faces.ask("/v1/state")
    assert status == 200
    document: dict[str, Any] = json.loads(body)
    return document


async def test_state_shows_sources_and_no_notice_when_all_is_quiet(clock: TurnedClock) -> None:
    """The usual day."""
    document = await shown(State(), clock)
    assert (document["schema"], document["node"]) == (1, "node-a")
    assert document["cloud"] == {"name": "aws", "why": "proved by an id"}
    assert document["now_at"] == "2026-11-30T10:05:06Z"
    assert document["now_unix_s"] == 1796033106.0
    assert document["in_force"] == document["past"] == []
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
