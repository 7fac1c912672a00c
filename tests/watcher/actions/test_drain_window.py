"""How long a drain has, and from when on it deletes."""

from datetime import timedelta

import pytest

from tests.support.clocks import START
from watcher.actions.drain_window import window_of
from watcher.notice import Deadline, Moment, Notice, NoticeKind, Standing, Urgency


def standing(left_s: float, *, is_stated: bool = True, acts_in_s: float | None = None) -> Standing:
    """Return a notice that was received at START."""
    end = Deadline.after(START, left_s)
    notice = Notice(
        id=f"in-{left_s}",
        kind=NoticeKind.TERMINATION,
        source="test",
        received=START,
        deadline=end if is_stated else None,
    )
    return Standing(notice, Urgency.STOP, end, None if acts_in_s is None else later(acts_in_s))


def later(by_s: float) -> Moment:
    """Return a moment after START."""
    return Moment(START.wall + timedelta(seconds=by_s), START.boottime_s + by_s)


@pytest.mark.parametrize(
    ("left_s", "reserve_s", "forced_in_s"),
    [
        (7200, 30, 7170),
        (120, 30, 90),
        (120, 300, 80),
        (30, 30, 20),
        (15, 30, 10),
        (10, 30, 5),
        (4, 30, 2),
        (120, 1, 119),
    ],
)
def test_reserve_is_at_most_a_third_but_some_seconds_where_there_are_any(
    left_s: float, reserve_s: float, forced_in_s: float
) -> None:
    """In a short window pods need most of what there is to end in."""
    window = window_of([standing(left_s)], reserve_s, START)
    assert window is not None
    assert window.forced_s - START.boottime_s == pytest.approx(forced_in_s)
    assert not window.is_forced(later(forced_in_s - 0.1))
    assert window.is_forced(later(forced_in_s))


def test_window_begins_when_the_notice_comes_in_force() -> None:
    """One that was planned for days has been nobody's concern before."""
    window = window_of([standing(86_400, acts_in_s=86_385)], 30, later(86_385))
    assert window is not None
    assert window.begins_s == later(86_385).boottime_s
    assert window.forced_s == later(86_395).boottime_s


def test_first_deadline_to_come_counts_and_none_that_has_passed() -> None:
    """A node that outlives one is drained for the next."""
    both = [standing(600), standing(60)]
    for now_s, end_s in ((0, 60), (59.9, 60), (60, 600)):
        window = window_of(both, 30, later(now_s))
        assert window is not None
        assert window.deadline.boottime_s == later(end_s).boottime_s
    assert window_of(both, 30, later(600)) is None
    assert window_of([], 30, START) is None


def test_ten_seconds_are_taken_only_when_no_deadline_was_stated() -> None:
    """What is guessed may be no time at all; what was said is kept to."""
    guessed = window_of([standing(0, is_stated=False)], 30, START)
    assert guessed is not None
    assert guessed.deadline == Deadline.after(START, 10)
    assert window_of([standing(0)], 30, START) is None


def test_grace_ends_a_second_before_the_deadline_and_is_never_none() -> None:
    """Nothing would wait for a pod with a grace of 0."""
    window = window_of([standing(30)], 30, START)
    assert window is not None
    assert [window.grace_s(later(passed_s)) for passed_s in (0, 0.5, 20, 28, 29.5)] == [
        29,
        28,
        9,
        1,
        1,
    ]
