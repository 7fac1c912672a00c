"""What ranks publish and decide, in their order, and how it travels."""

import json

import pytest
from hypothesis import given

from tests.support.published import RECORDS
from trainer_hooks.decision import ABORTED, JOINED, RESTORING, Decision, Position, Published
from trainer_hooks.errors import AgreementError
from trainer_hooks.rule import decide


def test_boundary_order_is_that_of_the_training_when_there_are_ticks() -> None:
    """Joined, restoring, then steps, and ticks within a step."""
    before_one = Position.just_before(1)
    order = [JOINED, RESTORING, Position(0), Position(0, 1), before_one, Position(1), Position(10)]
    assert sorted(set(order)) == order
    assert [before_one.last_step, Position(1).last_step, Position(1, 1).last_step] == [0, 1, 1]


@given(records=RECORDS)
def test_values_survive_the_store_when_they_are_encoded(records: list[Published]) -> None:
    """Line by line, whatever a cloud has put into an id."""
    assert Published.decode_all("".join(r.encode() for r in records).encode()) == records
    decision = decide(records)
    assert Decision.decode(decision.encode().encode()) == decision
    assert Decision.decode(ABORTED.encode().encode()) == ABORTED


GOOD: dict[str, object] = {
    "outcome": "stop",
    "last": [3, 0],
    "left_s": 1.5,
    "causes": ["a"],
    "at_stop": "finish",
    "why": "",
    "is_drill": False,
}


CHANGES: list[dict[str, object]] = [
    {"outcome": "halt"},
    {"outcome": None},
    {"outcome": ["stop"]},
    {"last": None},
    {"last": 3},
    {"last": [3]},
    {"last": [3, 0, 0]},
    {"last": ["3", 0]},
    {"outcome": "abort"},
    {"left_s": "1.5"},
    {"left_s": [1.5]},
    {"left_s": float("nan")},
    {"left_s": float("inf")},
    {"left_s": -1.0},
    {"causes": "a"},
    {"causes": None},
    {"causes": [1]},
    {"at_stop": "save"},
    {"at_stop": None},
    {"at_stop": 1},
    {"outcome": "save"},
    {"outcome": "end"},
    {"outcome": "end", "at_stop": None},
    {"why": None},
    {"is_drill": 1},
    {"is_drill": None},
]


def test_decision_is_taken_when_it_is_ours() -> None:
    """What the refused ones differ from."""
    assert Decision.decode(json.dumps(GOOD).encode()).causes == ("a",)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"1",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b'{"outcome": "stop"',
        b"[" * 100_000,
        *[json.dumps(GOOD | change).encode() for change in CHANGES],
        *[json.dumps({k: v for k, v in GOOD.items() if k != key}).encode() for key in GOOD],
    ],
    ids=lambda value: value.decode(errors="replace")[:60],
)
def test_decision_is_refused_when_it_is_not_ours(value: bytes) -> None:
    """Another program's value at our key is a crash, never a stop."""
    with pytest.raises(AgreementError, match="no decision of ours"):
        Decision.decode(value)
