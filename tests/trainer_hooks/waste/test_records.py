"""Records: written, read back, and refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledgers import begin
from trainer_hooks.phases import Phase
from trainer_hooks.untrusted import Json
from trainer_hooks.waste.found import Found
from trainer_hooks.waste.heard import Heard, Urgency
from trainer_hooks.waste.phase_spent import PhaseSpent
from trainer_hooks.waste.records import (
    Committed,
    End,
    Outcome,
    Part,
    Record,
    Saved,
    Spent,
    Steps,
    from_json,
    to_json,
)

RECORDS: list[Record] = [
    begin(17, 1e9, resumed_step=300),
    Spent(part=Part.LOAD, began=1.0, ended=2.5),
    Steps(first=3, end=9, began=1.0, ended=2.5, straggler_s=0.5),
    Saved(step=9, began=2.5, ended=3.0),
    Committed(step=9, at=4.0),
    Heard(at=5.0, id="n-1", urgency=Urgency.ADVISORY),
    Found(at=5.5, guard="straggler", step=8, text="rank 1 by 30 ms a step"),
    PhaseSpent(at=5.75, phase=Phase.DATA, steps=9, ranks=2, median_s=1.0, most_s=1.5, rank=1),
    End(at=6.0, outcome=Outcome.PREEMPTED, step=9),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_record_comes_back_when_it_was_written(record: Record) -> None:
    """As it was; and what a later version adds is not minded."""
    written = to_json(record)
    assert from_json(written) == record
    assert from_json({**written, "added": 1}) == record


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_record_is_refused_when_a_field_is_missing_or_another_kind(record: Record) -> None:
    """Each field in turn."""
    written = to_json(record)
    for name in written.keys() - {"received_at", "written_at"}:
        without = {key: value for key, value in written.items() if key != name}
        assert (from_json(without) is None) is (name != "urgency"), "earlier versions had none"
        odds: list[Json] = [None, [], {}, True, math.nan]
        for odd in odds:
            assert from_json({**written, name: odd}) is None, (name, odd)


@pytest.mark.parametrize(
    "wrong",
    [
        {"what": "steps", "first": 3, "end": 3, "began": 1, "ended": 2, "straggler_s": 0},
        {"what": "steps", "first": 3, "end": 9, "began": 2, "ended": 1, "straggler_s": 0},
        {"what": "save", "step": -1, "began": 1, "ended": 2},
        {"what": "save", "step": 10**16, "began": 1, "ended": 2},
        {"what": "commit", "step": 1, "at": 1e12},
        {"what": "part", "part": "lunch", "began": 1, "ended": 2},
        {"what": "notice", "at": 1, "id": "n-1", "urgency": "soon"},
        {"what": "notice", "at": 1e12, "id": "n-1"},
        {"what": "end", "at": 1, "outcome": "bored", "step": 1},
        {**to_json(RECORDS[0]), "schema": 2},
        {**to_json(RECORDS[0]), "gpus": -1},
        {**to_json(RECORDS[7]), "phase": "lunch"},
        {**to_json(RECORDS[7]), "steps": 0},
        {**to_json(RECORDS[7]), "most_s": 0.5},
        {"what": "who knows"},
        [],
        "begin",
        None,
    ],
)
def test_record_is_refused_when_it_makes_no_sense(wrong: Json) -> None:
    """Nothing comes of it."""
    assert from_json(wrong) is None


@pytest.mark.parametrize("odd", [None, "soon", True, -1.0, 1e12, math.nan, []])
def test_notice_counts_from_where_it_was_heard_when_nobody_knows_more(odd: Json) -> None:
    """An instant of the watcher's is a help, and no condition; one that can't be is none."""
    heard = Heard(at=5.0, id="n-1", received_at=4.0, written_at=4.5)
    assert from_json(to_json(heard)) == heard
    assert heard.in_hand_at == 4.0
    found = from_json({**to_json(heard), "received_at": odd})
    assert found == Heard(at=5.0, id="n-1", written_at=4.5)
    assert Heard(at=5.0, id="n-1", received_at=9.0, written_at=9.5).in_hand_at == 5.0


def test_straggler_takes_no_longer_than_the_steps_when_it_says_so() -> None:
    """Nor less than no time."""
    record: dict[str, Json] = {"what": "steps", "first": 3, "end": 9, "began": 1, "ended": 2}
    assert from_json({**record, "straggler_s": 9}) == Steps(
        first=3, end=9, began=1, ended=2, straggler_s=1
    )
    assert from_json({**record, "straggler_s": -9}) == Steps(first=3, end=9, began=1, ended=2)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)


@given(
    data=st.sampled_from(RECORDS).flatmap(
        lambda record: st.dictionaries(
            st.sampled_from(sorted(to_json(record))), json_values, max_size=3
        ).map(lambda odd: {**to_json(record), **odd})
    )
)
def test_record_is_whole_when_anything_is_read(data: dict[str, Json]) -> None:
    """Whatever is in the file, what comes out can be written again."""
    record = from_json(data)
    assert record is None or from_json(to_json(record)) == record
