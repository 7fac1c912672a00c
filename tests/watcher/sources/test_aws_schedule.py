"""The scheduled events of an instance: what is news, what is another look, and what is over."""

import json
from datetime import timedelta

import pytest

from tests.support.clocks import TurnedClock
from watcher.notice import CLOCK_SLACK_S, Moment, Notice
from watcher.sources.aws_imds_events import parse_scheduled_events
from watcher.sources.aws_schedule import LOOKS_TO_POSTPONE, LOOKS_TO_WITHDRAW, Schedule
from watcher.sources.level import withdrawal


def listed(clock: TurnedClock, *events: tuple[str, str | None]) -> tuple[Notice, ...]:
    """Return the notices of a list with these ids and starts."""
    body = [
        {"EventId": event_id, "Code": "system-reboot", "State": "active", "NotBefore": start}
        for event_id, start in events
    ]
    return parse_scheduled_events(json.dumps(body).encode(), clock(), "i-1")


EARLY, USUAL, LATE = (
    "5 Dec 2026 09:00:00 GMT",
    "12 Dec 2026 09:00:00 GMT",
    "19 Dec 2026 09:00:00 GMT",
)


def test_schedule_tells_each_event_once_when_the_list_stays(clock: TurnedClock) -> None:
    """Several at a time, each with the deadline of the first sighting."""
    schedule = Schedule()
    first = listed(clock, ("a", USUAL), ("b", LATE))
    assert schedule.seen(first) == list(first)
    clock.turn(30)
    assert schedule.seen(listed(clock, ("b", LATE), ("a", USUAL))) == []


def test_schedule_replaces_an_event_at_once_when_it_comes_earlier(clock: TurnedClock) -> None:
    """The new notice comes first, so that the flag is never gone in between."""
    schedule = Schedule()
    (old,) = schedule.seen(listed(clock, ("a", USUAL)))
    (new,) = listed(clock, ("a", EARLY))
    assert schedule.seen((new,)) == [new, withdrawal(old, "replaced")]


def test_schedule_keeps_the_first_time_when_every_answer_has_another(clock: TurnedClock) -> None:
    """A server that computes the start anew for each answer never moves the deadline."""
    schedule = Schedule()
    schedule.seen(listed(clock, ("a", USUAL)))
    for minute in range(60):
        assert schedule.seen(listed(clock, ("a", f"12 Dec 2026 10:{minute:02}:00 GMT"))) == []


def test_schedule_postpones_an_event_when_the_later_time_stays(clock: TurnedClock) -> None:
    """Rescheduled by its owner: believed after a few equal looks, not at a single one."""
    schedule = Schedule()
    (old,) = schedule.seen(listed(clock, ("a", USUAL)))
    later = listed(clock, ("a", LATE))
    for _ in range(LOOKS_TO_POSTPONE - 1):
        assert schedule.seen(later) == []
    schedule.unknown()
    for _ in range(LOOKS_TO_POSTPONE - 1):
        assert schedule.seen(later) == []
    assert schedule.seen(later) == [*later, withdrawal(old, "replaced")]


def test_schedule_withdraws_an_event_when_it_is_gone_for_good(clock: TurnedClock) -> None:
    """One list without it may be a glitch; another event stays what it is."""
    schedule = Schedule()
    kept, gone = schedule.seen(listed(clock, ("kept", USUAL), ("gone", LATE)))
    rest = listed(clock, ("kept", USUAL))
    for _ in range(LOOKS_TO_WITHDRAW - 1):
        assert schedule.seen(rest) == []
    schedule.unknown()
    for _ in range(LOOKS_TO_WITHDRAW - 1):
        assert schedule.seen(rest) == []
    assert schedule.seen(rest) == [withdrawal(gone, "over")]
    assert schedule.seen(()) == []
    assert schedule.seen(()) == [withdrawal(kept, "over")]


def test_schedule_counts_absences_anew_when_the_event_shows_again(clock: TurnedClock) -> None:
    """Once gone and back is not twice gone."""
    schedule = Schedule()
    shown = listed(clock, ("a", USUAL))
    schedule.seen(shown)
    for _ in range(5):
        assert schedule.seen(()) == []
        assert schedule.seen(shown) == []


def test_schedule_learns_the_time_when_it_could_not_be_read_before(clock: TurnedClock) -> None:
    """An unreadable start acts at once; a readable one then plans it, and never the reverse."""
    schedule = Schedule()
    (old,) = schedule.seen(listed(clock, ("a", "soon")))
    (new,) = listed(clock, ("a", USUAL))
    assert schedule.seen((new,)) == [new, withdrawal(old, "replaced")]
    assert schedule.seen(listed(clock, ("a", "later"))) == []


@pytest.mark.parametrize("start", [USUAL, LATE])
def test_schedule_says_nothing_new_when_an_adopted_event_is_shown(
    clock: TurnedClock, start: str
) -> None:
    """After a restart the first run's notice stands, and follows the same rules."""
    (adopted,) = listed(clock, ("a", USUAL))
    schedule = Schedule((adopted,))
    assert schedule.seen(listed(clock, ("a", start))) == []
    schedule.seen(())
    assert schedule.seen(()) == [withdrawal(adopted, "over")]


def test_schedule_tells_one_notice_when_the_instance_id_is_learnt_later(clock: TurnedClock) -> None:
    """Ids of notices hold the instance's id; the event is the same with and without it."""
    body = json.dumps([{"EventId": "a", "Code": "system-reboot", "NotBefore": USUAL}]).encode()
    schedule = Schedule()
    assert len(schedule.seen(parse_scheduled_events(body, clock(), None))) == 1
    clock.turn(30)
    early = Moment(clock().wall + timedelta(seconds=CLOCK_SLACK_S - 1), clock().boottime_s)
    for _ in range(2 * LOOKS_TO_POSTPONE):
        assert schedule.seen(parse_scheduled_events(body, early, "i-1")) == []


def test_schedule_corrects_the_deadline_when_the_clock_was_behind(clock: TurnedClock) -> None:
    """The same start, clearly nearer on the clock that does not jump: at once, under its id."""
    schedule = Schedule()
    (old,) = schedule.seen(listed(clock, ("a", USUAL)))
    clock.turn(30)
    mended = Moment(clock().wall + timedelta(hours=1), clock().boottime_s)
    body = json.dumps([{"EventId": "a", "Code": "system-reboot", "NotBefore": USUAL}]).encode()
    shown = parse_scheduled_events(body, mended, "i-2")
    (new,) = schedule.seen(shown)
    assert (new.id, new.withdrawn) == (old.id, False)
    assert old.deadline is not None
    assert new.deadline is not None
    assert new.deadline.boottime_s == old.deadline.boottime_s - 3600
    assert schedule.seen(shown) == []


@pytest.mark.parametrize("order", [1, -1])
def test_schedule_keeps_the_earliest_when_events_share_an_id(
    clock: TurnedClock, order: int
) -> None:
    """Whichever comes first in the list, also next to one that can't be read."""
    shown = listed(clock, ("a", EARLY), ("a", LATE), ("a", "soon"))
    schedule = Schedule()
    assert schedule.seen(shown[::order]) == [shown[0]]
    assert schedule.seen(shown[::-order]) == []


def test_schedule_tells_events_apart_when_they_have_no_id(clock: TurnedClock) -> None:
    """By code and start: each is told once, and ends by itself."""
    shown = listed(clock, ("", EARLY), ("", LATE))
    schedule = Schedule()
    assert sorted(notice.id for notice in schedule.seen(shown)) == sorted(one.id for one in shown)
    assert schedule.seen(shown[::-1]) == schedule.seen(shown[1:]) == []
    assert schedule.seen(shown[1:]) == [withdrawal(shown[0], "over")]
