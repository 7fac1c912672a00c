"""The annotation that says what was done to the Node."""

import json
from datetime import UTC, datetime

import pytest

from watcher.actions.node_state import Done, NodeState, compose, parse

STATE = NodeState(
    boot_id="boot-1",
    notice={"id": "spot-1", "kind": "preemption", "deadline": None},
    done=Done(was_unschedulable=False, taint="preemption", is_excluded=True, is_marked=True),
)


@pytest.mark.parametrize(
    "done", [STATE.done, Done(), Done(was_unschedulable=True, no_execute="preemption")]
)
@pytest.mark.parametrize("expires", [None, datetime(2026, 11, 30, 11, 5, 6, tzinfo=UTC)])
def test_annotation_is_read_as_it_was_written(done: Done, expires: datetime | None) -> None:
    """Whatever was done and not done."""
    state = NodeState(boot_id="boot-1", notice=STATE.notice, done=done, expires=expires)
    assert parse(compose(state)) == state


@pytest.mark.parametrize(
    "damage",
    [
        {"schema": 2},
        {"boot_id": None},
        {"notice": []},
        {"was_unschedulable": "no"},
        {"taint": 1},
        {"no_execute": 1},
        {"drained": None},
        {"expires_at": 1},
        {"expires_at": "soon"},
        {"expires_at": "0001-01-01T00:00:00+23:59"},
        {"marked": "yes"},
        {"excluded_from_load_balancers": None},
    ],
)
def test_annotation_says_nothing_when_a_field_is_not_ours(damage: dict[str, object]) -> None:
    """Of a newer daemon, or written by hand."""
    assert parse(json.dumps(json.loads(compose(STATE)) | damage)) is None


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "null", "[" * 15_000, "x" * 20_000])
def test_annotation_says_nothing_when_it_is_damaged(text: str | None) -> None:
    """Missing, empty, deep or long."""
    assert parse(text) is None


def test_annotation_of_the_first_version_is_read_when_it_lacks_what_came_later() -> None:
    """A daemon that was upgraded undoes what its predecessor has done."""
    document = json.loads(compose(STATE))
    del document["no_execute"], document["expires_at"], document["drained"]
    assert parse(json.dumps(document)) == STATE
