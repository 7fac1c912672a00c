"""Notices that are said once: kept until they are taken back."""

from dataclasses import replace

import pytest

from tests.support.clocks import TurnedClock
from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.told import LIMIT, Told


def notice(clock: TurnedClock, name: str = "a", left_s: float | None = 100) -> Notice:
    """Build a notice that is heard now."""
    deadline = None if left_s is None else Deadline.after(clock(), left_s)
    kind = NoticeKind.PREEMPTION
    return Notice(id=name, kind=kind, source="s", received=clock(), deadline=deadline)


def back(seen: Notice) -> Notice:
    """Return what takes it back, as a program words it."""
    return replace(seen, withdrawn=True, deadline=None)


def test_notice_is_news_once_when_it_is_told_again(clock: TurnedClock) -> None:
    """Only a deadline that has come clearly nearer is news."""
    told, first = Told(), notice(clock)
    assert told.heard(first) == [first]
    clock.turn(10)
    assert told.heard(notice(clock, left_s=90)) == []
    assert told.heard(notice(clock, left_s=500)) == []
    assert told.heard(notice(clock, left_s=None)) == []
    nearer = notice(clock, left_s=20)
    assert told.heard(nearer) == [nearer]
    assert len(told) == 1


def test_deadline_is_news_when_there_was_none(clock: TurnedClock) -> None:
    """The first word is often only that something will come."""
    told, later = Told([notice(clock, left_s=None)]), notice(clock, left_s=1e6)
    assert told.heard(later) == [later]


def test_notice_is_taken_back_once_and_only_when_it_stands(clock: TurnedClock) -> None:
    """What is taken back is what was told, with its own deadline."""
    first = notice(clock)
    told = Told([first])
    assert told.heard(back(notice(clock, "b"))) == []
    clock.turn(1)
    (over,) = told.heard(back(notice(clock)))
    assert over == replace(first, withdrawn=True, outcome="over")
    assert told.heard(back(first)) == []
    assert len(told) == 0


def test_others_are_replaced_when_only_one_is_in_force(clock: TurnedClock) -> None:
    """The new one comes first, so that the flag is never gone between them."""
    first, second = notice(clock), notice(clock, "b")
    told = Told([first])
    assert told.only(second) == [second, replace(first, withdrawn=True, outcome="replaced")]
    assert told.only(second) == []
    assert told.none() == [replace(second, withdrawn=True, outcome="over")]
    assert told.none() == []


def test_notices_are_refused_when_there_are_too_many(clock: TurnedClock) -> None:
    """One that stands can still be taken back, and makes room."""
    told = Told([notice(clock, str(n)) for n in range(LIMIT)])
    with pytest.raises(SourceMalformed, match="one-more"):
        told.heard(notice(clock, "one-more"))
    told.heard(back(notice(clock, "0")))
    assert told.heard(notice(clock, "one-more")) != []
