"""A level: when sightings are one notice, and when a notice is withdrawn."""

from dataclasses import replace

from tests.support.clocks import TurnedClock
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.level import ABSENCES_TO_WITHDRAW, GRACE_S, Level, withdrawal


def preemption(seen: Moment, left_s: float, action: str = "terminate") -> Notice:
    """Build a Spot notice as it would be parsed at ``seen``."""
    deadline = Deadline.after(seen, left_s)
    return Notice(
        id=f"{action}-{deadline.boottime_s}",
        kind=NoticeKind.PREEMPTION,
        source="aws_imds",
        received=seen,
        deadline=deadline,
        action=action,
        detail={"time": str(deadline.boottime_s)},
    )


def advice(seen: Moment, time: str) -> Notice:
    """Build rebalance advice, which has no deadline."""
    return Notice(
        id=f"advice-{time}",
        kind=NoticeKind.REBALANCE,
        source="aws_imds",
        received=seen,
        detail={"noticeTime": time},
    )


def test_level_tells_once_when_the_same_fact_is_shown_again(clock: TurnedClock) -> None:
    """The first sighting's deadline stays, whatever the clocks say later."""
    level, first = Level(), preemption(clock(), 120)
    assert level.present(first) == [first]
    clock.turn(7)
    again = replace(first, received=clock(), deadline=Deadline.after(clock(), 120))
    assert level.present(again) == []


def test_level_ignores_a_later_time_when_the_notice_is_in_force(clock: TurnedClock) -> None:
    """A metadata server that restates the time at every look does not move the deadline."""
    level = Level()
    level.present(preemption(clock(), 120))
    for _ in range(200):
        clock.turn(1)
        assert level.present(preemption(clock(), 120)) == []


def test_level_replaces_the_notice_when_an_earlier_time_is_shown(clock: TurnedClock) -> None:
    """The new notice comes first, so that the flag is never gone in between."""
    level, first = Level(), preemption(clock(), 120)
    level.present(first)
    sooner = preemption(clock(), 60)
    assert level.present(sooner) == [sooner, withdrawal(first, "replaced")]


def test_level_replaces_the_notice_when_the_action_changes(clock: TurnedClock) -> None:
    """A stop that becomes a hibernation is another fact."""
    level, first = Level(), preemption(clock(), 120, "stop")
    level.present(first)
    other = preemption(clock(), 120, "hibernate")
    assert level.present(other) == [other, withdrawal(first, "replaced")]


def test_level_tells_nothing_when_other_words_make_the_same_notice(clock: TurnedClock) -> None:
    """One that is announced again can't be taken back in the same step: it is in force."""
    level, first = Level(), preemption(clock(), 120)
    level.present(first)
    clock.turn(1)
    assert level.present(replace(first, received=clock(), action=None)) == []
    assert level.over() == [withdrawal(first, "over")]


def test_level_tells_a_new_notice_when_the_node_has_outlived_the_old_one(
    clock: TurnedClock,
) -> None:
    """A node that was spared can be marked again without the key ever being gone."""
    level = Level()
    level.present(preemption(clock(), 120))
    clock.turn(120 + GRACE_S + 1)
    later = preemption(clock(), 120)
    assert level.present(later)[0] == later


def test_level_keeps_the_first_advice_when_its_time_is_restated(clock: TurnedClock) -> None:
    """Advice has no deadline that could be earlier; saying it again would only cost saves."""
    level = Level()
    level.present(advice(clock(), "09:58:14"))
    clock.turn(60)
    assert level.present(advice(clock(), "09:59:14")) == []


def test_level_withdraws_only_when_both_conditions_hold(clock: TurnedClock) -> None:
    """Ten absences in a row, and five minutes beyond the deadline."""
    level, notice = Level(), preemption(clock(), 120)
    level.present(notice)
    clock.turn(120 + GRACE_S - 1)
    for _ in range(ABSENCES_TO_WITHDRAW + 5):
        assert level.absent(clock()) == []
    clock.turn(1)
    assert level.absent(clock()) == [withdrawal(notice, "survived")]
    assert level.absent(clock()) == []


def test_level_counts_absences_anew_when_a_fetch_fails_or_the_notice_shows(
    clock: TurnedClock,
) -> None:
    """Nine absences, an interruption and nine more are not ten in a row."""
    level, notice = Level(), preemption(clock(), 120)
    level.present(notice)
    clock.turn(10_000)
    for interruption in (level.unknown, lambda: level.present(notice)):
        for _ in range(ABSENCES_TO_WITHDRAW - 1):
            assert level.absent(clock()) == []
        interruption()
    for _ in range(ABSENCES_TO_WITHDRAW - 1):
        assert level.absent(clock()) == []
    assert level.absent(clock()) == [withdrawal(notice, "survived")]


def test_level_withdraws_advice_when_it_has_been_gone_for_long(clock: TurnedClock) -> None:
    """Without a deadline the grace counts from the receipt."""
    level, notice = Level(), advice(clock(), "09:58:14")
    level.present(notice)
    clock.turn(GRACE_S)
    for _ in range(ABSENCES_TO_WITHDRAW - 1):
        assert level.absent(clock()) == []
    assert level.absent(clock()) == [withdrawal(notice, "over")]


def test_level_says_nothing_when_there_was_never_a_notice(clock: TurnedClock) -> None:
    """A healthy node answers "not there" for its whole life."""
    level = Level()
    assert all(level.absent(clock()) == [] for _ in range(50))


def test_level_withdraws_an_adopted_notice_when_it_stays_away(clock: TurnedClock) -> None:
    """What an earlier run of the daemon left in force follows the same rule."""
    notice = preemption(clock(), 120)
    level = Level(notice)
    assert level.present(notice) == []
    clock.turn(120 + GRACE_S)
    news = [level.absent(clock()) for _ in range(ABSENCES_TO_WITHDRAW)]
    assert news[-1] == [withdrawal(notice, "survived")]


def test_level_withdraws_at_once_when_the_cloud_says_the_opposite(clock: TurnedClock) -> None:
    """ "It stays" is more than "not there": no absences have to be counted."""
    level, notice = Level(), preemption(clock(), 120)
    assert level.over() == []
    level.present(notice)
    assert level.over() == [withdrawal(notice, "over")]
    assert level.over() == []
