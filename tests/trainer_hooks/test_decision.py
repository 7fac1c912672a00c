"""The rule by which a round is decided, and how its values travel."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.decision import (
    ABORTED,
    JOINED,
    RESTORING,
    Decision,
    Outcome,
    Position,
    Published,
    decide,
    patience_s,
)
from trainer_hooks.errors import AgreementError

POSITIONS = st.builds(Position, st.integers(-2, 50), st.integers(0, 3))
LEFT_S = st.none() | st.floats(0, 1e6)
RECORDS = st.lists(
    st.builds(
        Published,
        rank=st.integers(0, 1023),
        position=POSITIONS,
        notice_id=st.none() | st.text(),
        is_stop=st.booleans(),
        left_s=LEFT_S,
    ),
    min_size=1,
    max_size=8,
)


def published(
    step: int, *, stop: str | None = None, advice: str | None = None, left_s: float | None = None
) -> Published:
    """Return what a rank at ``step`` says."""
    notice = stop or advice
    return Published(
        rank=0, position=Position(step), notice_id=notice, is_stop=bool(stop), left_s=left_s
    )


@pytest.mark.parametrize(
    ("records", "decision"),
    [
        ([published(3), published(4)], Decision(outcome=Outcome.NONE)),
        (
            [published(3, stop="a"), published(4)],
            Decision(outcome=Outcome.STOP, last=Position(4), causes=("a",)),
        ),
        (
            [published(3, advice="a", left_s=9.0), published(4)],
            Decision(outcome=Outcome.SAVE, last=Position(4), causes=("a",)),
        ),
        (
            [published(3, advice="a", left_s=9.0), published(4, stop="b", left_s=50.0)],
            Decision(outcome=Outcome.STOP, last=Position(4), left_s=50.0, causes=("a", "b")),
        ),
        (
            [published(7, stop="b", left_s=50.0), published(4, stop="a", left_s=30.0)],
            Decision(outcome=Outcome.STOP, last=Position(7), left_s=30.0, causes=("a", "b")),
        ),
        (
            [published(-2, stop="a"), published(-1, stop="a", left_s=0.0)],
            Decision(outcome=Outcome.STOP, last=RESTORING, left_s=0.0, causes=("a",)),
        ),
    ],
    ids=["none", "stop", "save", "stop-beats-save", "earliest-deadline", "before-the-restore"],
)
def test_round_is_decided_by_the_table_when_all_have_published(
    records: list[Published], decision: Decision
) -> None:
    """One line a rule."""
    assert decide(records) == decision


def test_boundary_order_is_that_of_the_training_when_there_are_ticks() -> None:
    """Joined, restoring, then steps, and ticks within a step."""
    order = [JOINED, RESTORING, Position(0), Position(0, 1), Position(1), Position(10)]
    assert sorted(set(order)) == order


@given(records=RECORDS)
def test_decision_is_to_act_beyond_every_rank_when_a_notice_is_in_force(
    records: list[Published],
) -> None:
    """Nobody has passed the act boundary; one rank at least has passed the one before it."""
    decision = decide(records)
    in_force = [record for record in records if record.notice_id is not None]
    stops = [record for record in in_force if record.is_stop]
    if not in_force:
        assert decision == Decision(outcome=Outcome.NONE)
        return
    assert decision.outcome is (Outcome.STOP if stops else Outcome.SAVE)
    assert decision.last in [record.position for record in records]
    assert all(record.position <= decision.last for record in records)
    assert set(decision.causes) == {record.notice_id for record in in_force}
    if decision.left_s is not None:
        assert all(stop.left_s is None or stop.left_s >= decision.left_s for stop in stops)
    assert (decision.left_s is None) == all(stop.left_s is None for stop in stops)


@given(records=RECORDS)
def test_decision_is_the_same_when_the_ranks_publish_in_another_order(
    records: list[Published],
) -> None:
    """Who comes last decides for all, so it must not matter who does."""
    assert decide(records) == decide(reversed(records))


@given(records=RECORDS)
def test_values_survive_the_store_when_they_are_encoded(records: list[Published]) -> None:
    """Line by line, whatever a cloud has put into an id."""
    assert Published.decode_all("".join(r.encode() for r in records).encode()) == records
    decision = decide(records)
    assert Decision.decode(decision.encode().encode()) == decision
    assert Decision.decode(ABORTED.encode().encode()) == ABORTED


GOOD: dict[str, object] = {"outcome": "stop", "last": [3, 0], "left_s": 1.5, "causes": ["a"]}


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
    {"causes": "a"},
    {"causes": None},
    {"causes": [1]},
]


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


@pytest.mark.parametrize(
    ("left_s", "patience"),
    [
        (None, 1.5),
        (0.0, 0.5),
        (9.9, 0.5),
        (30.0, 1.5),
        (99.0, 4.95),
        (120.0, 5.0),
        (1e9, 5.0),
        (float("inf"), 5.0),
    ],
)
def test_patience_is_a_twentieth_when_it_lies_within_its_bounds(
    left_s: float | None, patience: float
) -> None:
    """Half a second to five; an unknown deadline is taken as thirty."""
    assert patience_s(left_s) == pytest.approx(patience)
