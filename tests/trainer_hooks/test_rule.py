"""The rule by which a round is decided: what, where, and by whose figures."""

from dataclasses import replace

import pytest
from hypothesis import given

from tests.support.published import RECORDS, figures, published
from trainer_hooks.at_stop import AtStop, Figures
from trainer_hooks.decision import RESTORING, Decision, Outcome, Position, Published
from trainer_hooks.rule import decide, patience_s

DRILL = replace(published(3, stop="d"), is_drill=True)
UNPLANNED = "not every rank trains yet, or says how it does"


@pytest.mark.parametrize(
    ("records", "is_drill"),
    [
        ([DRILL, published(4)], True),
        ([DRILL, DRILL], True),
        ([DRILL, published(4, advice="a")], True),
        ([DRILL, published(4, stop="b")], False),
        ([published(4, stop="b")], False),
    ],
)
def test_stop_is_a_drill_when_no_real_notice_is_behind_it(
    records: list[Published], *, is_drill: bool
) -> None:
    """One node that really goes away is enough."""
    assert decide(records).is_drill is is_drill


def stop(last: Position, left_s: float | None, *causes: str) -> Decision:
    """Return a stop for which nothing was measured."""
    return Decision(
        outcome=Outcome.STOP,
        last=last,
        left_s=left_s,
        causes=causes,
        at_stop=AtStop.FINISH,
        why=UNPLANNED,
    )


@pytest.mark.parametrize(
    ("records", "decision"),
    [
        ([published(3), published(4)], Decision(outcome=Outcome.NONE)),
        ([published(3, stop="a"), published(4)], stop(Position(4), None, "a")),
        (
            [published(3, advice="a", left_s=9.0), published(4)],
            Decision(outcome=Outcome.SAVE, last=Position(5, -1), causes=("a",)),
        ),
        (
            [published(3, advice="a", left_s=9.0), published(4, stop="b", left_s=50.0)],
            stop(Position(4), 50.0, "a", "b"),
        ),
        (
            [published(7, stop="b", left_s=50.0), published(4, stop="a", left_s=30.0)],
            stop(Position(7), 30.0, "a", "b"),
        ),
        (
            [published(-2, stop="a"), published(-1, stop="a", left_s=0.0)],
            stop(RESTORING, 0.0, "a"),
        ),
    ],
    ids=["none", "stop", "save", "stop-beats-save", "earliest-deadline", "before-the-restore"],
)
def test_round_is_decided_by_the_table_when_all_have_published(
    records: list[Published], decision: Decision
) -> None:
    """One line a rule."""
    assert decide(records) == decision


AT_FIVE = published(5, measured=figures())


@pytest.mark.parametrize(
    ("told", "other", "outcome", "at_stop", "last"),
    [
        (figures(), AT_FIVE, Outcome.STOP, AtStop.EMERGENCY, Position(6, -1)),
        (figures(saves_s=(60.0,) * 8), AT_FIVE, Outcome.STOP, AtStop.NONE, Position(5)),
        (figures(in_flight_s=0.2), AT_FIVE, Outcome.STOP, AtStop.EMERGENCY, Position(6, -1)),
        (
            figures(saves_s=(20.0,) * 8, in_flight_s=9.0),
            AT_FIVE,
            Outcome.STOP,
            AtStop.FINISH,
            Position(5),
        ),
        (figures(step_s=9.0), AT_FIVE, Outcome.STOP, AtStop.NONE, Position(5)),
        (figures(), published(5), Outcome.STOP, AtStop.FINISH, Position(5)),
        (
            figures(until=9),
            published(5, measured=figures(until=9, step_s=0.1)),
            Outcome.END,
            None,
            None,
        ),
        (figures(until=9), AT_FIVE, Outcome.STOP, AtStop.EMERGENCY, Position(6, -1)),
        (
            figures(until=5),
            published(5, measured=figures(until=5)),
            Outcome.STOP,
            AtStop.EMERGENCY,
            Position(6, -1),
        ),
        (
            figures(until=40),
            published(5, measured=figures(until=40)),
            Outcome.STOP,
            AtStop.EMERGENCY,
            Position(6, -1),
        ),
    ],
    ids=[
        "save-again",
        "slow-saves-on-one-rank",
        "save-after-the-one-in-flight",
        "only-the-one-in-flight",
        "one-rank-is-steps-behind",
        "one-rank-knows-nothing",
        "nearly-done",
        "ends-differ",
        "one-is-done",
        "far-from-done",
    ],
)
def test_stop_is_planned_by_the_slowest_when_ranks_differ(
    told: Figures, other: Published, outcome: Outcome, at_stop: AtStop | None, last: Position | None
) -> None:
    """30 s are left; a rank at step 2 was told, another one stands at step 5."""
    decision = decide([published(2, stop="a", left_s=30.0, measured=told), other])
    assert (decision.outcome, decision.at_stop, decision.last) == (outcome, at_stop, last)


def test_stop_is_planned_by_the_assumed_deadline_when_one_rank_has_no_other() -> None:
    """It counts beside the known ones, and no run goes on to its end by it."""
    measured = figures(until=6, saves_s=(20.0,) * 8)
    known = published(5, stop="a", left_s=300.0, measured=measured)
    assert decide([known]).outcome is Outcome.END
    unknown = published(5, stop="b", measured=measured)
    decision = decide([known, unknown])
    assert (decision.outcome, decision.at_stop) == (Outcome.STOP, AtStop.NONE)
    assert decision.left_s == 300.0
    assert "usable_s=28.0 (assumed)" in decision.why


@given(records=RECORDS)
def test_decision_is_to_act_beyond_every_rank_when_a_notice_is_in_force(
    records: list[Published],
) -> None:
    """Nobody has passed the act boundary, and it is the next one, or the next whole step."""
    decision = decide(records)
    in_force = [record for record in records if record.notice_id is not None]
    stops = [record for record in in_force if record.is_stop]
    if not in_force:
        assert decision == Decision(outcome=Outcome.NONE)
        return
    assert set(decision.causes) == {record.notice_id for record in in_force}
    if decision.left_s is not None:
        assert all(stop.left_s is None or stop.left_s >= decision.left_s for stop in stops)
    assert (decision.left_s is None) == all(stop.left_s is None for stop in stops)
    furthest = max(record.position for record in records)
    if decision.last is None:
        assert decision.outcome is Outcome.END
        ends = {record.figures.until for record in records if record.figures is not None}
        assert len(ends) == 1
        assert (ends.pop() or 0) > furthest.step
        return
    assert decision.outcome is (Outcome.STOP if stops else Outcome.SAVE)
    is_whole = decision.outcome is Outcome.SAVE or decision.at_stop is AtStop.EMERGENCY
    assert decision.last == (Position(furthest.step + 1, -1) if is_whole else furthest)
    assert all(record.position <= decision.last for record in records)


@given(records=RECORDS)
def test_decision_is_the_same_when_the_ranks_publish_in_another_order(
    records: list[Published],
) -> None:
    """Who comes last decides for all, so it must not matter who does."""
    assert decide(records) == decide(reversed(records))


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


def test_nothing_is_saved_when_one_rank_asks_for_a_roll_back() -> None:
    """Nor does the run go on to its end, however near that is."""
    near = replace(published(3, stop="a", left_s=900.0), figures=figures(until=5))
    asked = replace(near, is_roll_back=True)
    other = replace(published(4), figures=figures(until=5))
    assert decide([near, other]).outcome is Outcome.END
    decision = decide([asked, other])
    assert (decision.outcome, decision.at_stop) == (Outcome.STOP, AtStop.NONE)
