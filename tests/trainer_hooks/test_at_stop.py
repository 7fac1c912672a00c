"""What is done at a stop, against the theory's reference values and against drawn save times."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.published import SECONDS
from trainer_hooks.at_stop import (
    ENOUGH,
    LEAST_S,
    LEAVING_S,
    AtStop,
    Outlook,
    SaveTimes,
    plan,
    slowest,
)

SAVES = st.lists(SECONDS, max_size=8).map(tuple)


def outlook(
    left_s: float,
    *saves_s: float,
    to_stop_s: float = 2.0,
    to_end_s: float | None = None,
    in_flight_s: float | None = None,
    is_known: bool = True,
) -> Outlook:
    """Return what lies ahead of ranks that are two seconds from a boundary."""
    return Outlook(
        left_s=left_s,
        is_known=is_known,
        to_stop_s=to_stop_s,
        to_end_s=to_end_s,
        saves_s=saves_s,
        in_flight_s=in_flight_s,
    )


@pytest.mark.parametrize(
    ("left_s", "to_stop_s", "save_s", "at_stop"),
    [
        (15, 2, 8, AtStop.NONE),
        (30, 2, 8, AtStop.EMERGENCY),
        (15, 10, 8, AtStop.NONE),
        (30, 2, 25, AtStop.NONE),
        (120, 2, 60, AtStop.EMERGENCY),
        (110, 2, 60, AtStop.EMERGENCY),
        (30, 2, 60, AtStop.NONE),
    ],
)
def test_step_is_saved_when_the_odds_are_nine_in_ten(
    left_s: float, to_stop_s: float, save_s: float, at_stop: AtStop
) -> None:
    """The seven cases of theory 3.5 (2026-11-30), with eight saves measured."""
    planned = plan(outlook(left_s, *[save_s] * 8, to_stop_s=to_stop_s))
    assert planned.at_stop is at_stop
    assert f"usable_s={left_s - LEAVING_S:.1f} to_stop_s={to_stop_s:.1f}" in planned.why
    assert f"save_s={save_s:.2f} measured=8" in planned.why


@pytest.mark.parametrize("measured", range(10))
def test_odds_are_taken_as_worse_when_fewer_saves_were_measured(measured: int) -> None:
    """A minute each, of two there are: three have to be measured to believe that."""
    planned = plan(outlook(120.0, *[60.0] * measured))
    assert planned.at_stop is (AtStop.EMERGENCY if measured >= 3 else AtStop.NONE)
    assert ("measured=0 (assumed)" in planned.why) == (measured == 0)


@given(
    saves_s=st.lists(st.floats(60, 1e4), max_size=8).map(tuple),
    in_flight_s=st.none() | SECONDS,
    left_s=st.floats(0, 30),
    is_known=st.booleans(),
)
def test_step_is_never_saved_when_a_save_takes_a_minute_and_half_of_one_is_left(
    saves_s: tuple[float, ...], in_flight_s: float | None, left_s: float, *, is_known: bool
) -> None:
    """Whatever else: only the save in flight may be finished."""
    planned = plan(outlook(left_s, *saves_s, in_flight_s=in_flight_s, is_known=is_known))
    assert planned.at_stop in (AtStop.FINISH, AtStop.NONE)
    assert in_flight_s is not None or planned.at_stop is AtStop.NONE


@pytest.mark.parametrize(
    ("left_s", "in_flight_s", "saves_s", "at_stop"),
    [
        (30.0, 50.0, (60.0,) * 5, AtStop.FINISH),  # two in three that it ends
        (30.0, 5.0, (60.0,) * 5, AtStop.NONE),  # one in twenty
        (30.0, 5.0, (), AtStop.FINISH),  # nobody knows: it may be a short one
        (30.0, 0.5, (1.0,) * 5, AtStop.EMERGENCY),  # both of them fit in
        (30.0, 0.5, (13.0,) * 5, AtStop.FINISH),  # one after the other they do not
        (0.0, 0.5, (2.0,) * 5, AtStop.FINISH),  # the least time that any stop gets
        (0.0, 1e6, (1.0,) * 5, AtStop.NONE),  # it hangs
    ],
)
def test_save_in_flight_is_waited_for_when_it_has_a_chance(
    left_s: float, in_flight_s: float, saves_s: tuple[float, ...], at_stop: AtStop
) -> None:
    """And its time counts for the one after it. By an assumed deadline none is given up."""
    ahead = outlook(left_s, *saves_s, in_flight_s=in_flight_s, to_stop_s=1.0)
    assert plan(ahead).at_stop is at_stop, plan(ahead).why
    assumed = plan(replace(ahead, is_known=False)).at_stop
    assert assumed is (AtStop.FINISH if at_stop is AtStop.NONE else at_stop)


@pytest.mark.parametrize(
    ("changes", "is_end"),
    [
        ({}, True),
        ({"to_end_s": 40.0}, True),
        ({"to_end_s": 60.0}, False),
        ({"to_end_s": None}, False),
        ({"is_known": False}, False),
        ({"left_s": 60.0, "to_end_s": 30.0}, False),
        ({"saves_s": (10.0,) * 8, "to_end_s": 20.0}, True),
        ({"saves_s": (10.0,) * 8, "to_end_s": 20.0, "in_flight_s": 0.0}, False),
        ({"saves_s": ()}, False),
    ],
)
def test_run_goes_on_to_its_end_when_that_comes_well_before_the_deadline(
    changes: dict[str, object], *, is_end: bool
) -> None:
    """Its last saves included, in half of the time there is; never by an assumed deadline."""
    facts: dict[str, object] = {
        "left_s": 120.0,
        "is_known": True,
        "to_stop_s": 1.0,
        "to_end_s": 10.0,
        "saves_s": (1.0,) * 8,
        "in_flight_s": None,
    }
    planned = plan(Outlook(**{**facts, **changes}))  # type: ignore[arg-type]  # fields of Outlook
    assert (planned.at_stop is None) == is_end, planned.why


@given(saves_s=SAVES, elapsed_s=SECONDS, pause_s=SECONDS, one_s=SECONDS, other_s=SECONDS)
def test_odds_are_odds_and_grow_when_more_time_is_left(
    saves_s: tuple[float, ...], elapsed_s: float, pause_s: float, one_s: float, other_s: float
) -> None:
    """Of a save, of the rest of one, and of both in a row, whatever was measured."""
    times = SaveTimes.of(saves_s)
    less_s, more_s = sorted((one_s, other_s))
    for odds in (
        times.within,
        lambda s: times.rest_within(s, elapsed_s),
        lambda s: times.both_within(s, elapsed_s, pause_s),
    ):
        assert -1e-9 <= odds(less_s) <= odds(more_s) + 1e-6 <= 1 + 1e-5


@pytest.mark.parametrize("elapsed_s", [0.0, 5.0, 12.0])
@pytest.mark.parametrize("seconds", [10.0, 20.0, 40.0])
def test_odds_are_those_of_drawn_saves_when_two_come_in_a_row(
    elapsed_s: float, seconds: float
) -> None:
    """Ten thousand of them, from the same distribution."""
    times = SaveTimes.of((10.0,) * 8)
    draw = random.Random(1)  # noqa: S311 - no secret

    def save_s() -> float:
        return draw.lognormvariate(times.log_s.mean, times.log_s.stdev)

    rests = [s - elapsed_s for s in (save_s() for _ in range(40_000)) if s > elapsed_s][:10_000]
    done = sum(rest <= seconds for rest in rests) / len(rests)
    assert times.rest_within(seconds, elapsed_s) == pytest.approx(done, abs=0.02)
    done = sum(max(rest, 3.0) + save_s() <= seconds for rest in rests) / len(rests)
    assert times.both_within(seconds, elapsed_s, 3.0) == pytest.approx(done, abs=0.02)


def test_slowest_history_is_the_one_that_promises_least() -> None:
    """Not the longest median alone: one that was measured once may be anything."""
    assert slowest([(1.0,) * 8, (2.0,) * 8]) == (2.0,) * 8
    assert slowest([(1.5,) * 8, (1.4,)]) == (1.4,)
    assert slowest([(1.0,), ()]) == ()


def test_stop_has_its_least_time_when_the_deadline_is_past() -> None:
    """As the guard has it."""
    quick = outlook(0.0, *[0.1] * 8, to_stop_s=0.1)
    assert plan(quick).at_stop is AtStop.EMERGENCY
    assert f"usable_s={LEAST_S - LEAVING_S:.1f}" in plan(quick).why
    assert 0 < ENOUGH < 1
