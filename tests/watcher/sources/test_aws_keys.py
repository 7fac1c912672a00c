"""What each metadata key's answers come to, one answer after the other."""

import pytest

from tests.support.clocks import TurnedClock
from watcher.errors import SourceMalformed
from watcher.httpclient import Answer
from watcher.notice import NoticeKind
from watcher.sources.aws_instance import AwsInstance
from watcher.sources.aws_keys import (
    InstanceAction,
    ScheduledEvents,
    TargetLifecycleState,
    TerminationTime,
)
from watcher.sources.lane import Key, Sight
from watcher.sources.level import ABSENCES_TO_WITHDRAW, GRACE_S

ABSENT = Answer(404, {}, b"<html>404 - Not Found</html>")
TIME = b"2026-11-30T10:07:06Z"
ACTION = b'{"action": "terminate", "time": "2026-11-30T10:07:06Z"}'
EVENT = b'[{"EventId": "instance-event-1", "Code": "instance-retirement", "State": "%s", %s}]'


def told(key: Key, clock: TurnedClock, body: bytes | None) -> Sight:
    """Give a key an answer with this body, or a 404."""
    return key.answered(ABSENT if body is None else Answer(200, {}, body), clock())


@pytest.fixture
def action() -> InstanceAction:
    """The key of Spot interruptions."""
    return InstanceAction(AwsInstance({}), None)


@pytest.fixture
def time(action: InstanceAction) -> TerminationTime:
    """The older key beside it."""
    return TerminationTime(AwsInstance({}), action)


def test_older_key_is_a_notice_when_only_it_shows_one(
    action: InstanceAction, time: TerminationTime, clock: TurnedClock
) -> None:
    """Heard once, and the newer key's 404s take nothing back while the older one stays."""
    told(action, clock, None)
    (notice,) = told(time, clock, TIME).news
    assert (notice.kind, notice.action) == (NoticeKind.PREEMPTION, "terminate")
    clock.turn(120 + GRACE_S - 1)
    for _ in range(3 * ABSENCES_TO_WITHDRAW):
        assert told(action, clock, None).news == told(time, clock, TIME).news == []


def test_both_keys_are_one_notice_when_they_show_the_same(
    action: InstanceAction, time: TerminationTime, clock: TurnedClock
) -> None:
    """Whichever is read first; the second is another look at the same fact."""
    (first,) = told(time, clock, TIME).news
    assert told(action, clock, ACTION).news == []
    assert told(time, clock, TIME).news == []
    other = InstanceAction(AwsInstance({}), None)
    assert told(other, clock, ACTION).news == [first]


def test_older_key_says_nothing_when_the_newer_one_shows_another_action(
    action: InstanceAction, time: TerminationTime, clock: TurnedClock
) -> None:
    """Mocks show a time for a stop as well; that is no second notice."""
    told(action, clock, ACTION.replace(b"terminate", b"stop"))
    assert told(time, clock, TIME).news == []


@pytest.mark.parametrize("body", [None, b"", b"not-terminated", b"0", b"<html></html>", b"\xff"])
def test_older_key_says_nothing_when_it_is_no_time(
    action: InstanceAction, time: TerminationTime, clock: TurnedClock, body: bytes | None
) -> None:
    """EC2 may answer with some other text where there is none."""
    told(action, clock, None)
    assert told(time, clock, body) == Sight("absent", [])


def test_older_key_says_nothing_when_its_time_is_long_past(
    action: InstanceAction, time: TerminationTime, clock: TurnedClock
) -> None:
    """EC2 leaves the time there when it fails to terminate; a new daemon must not stop for it."""
    told(action, clock, None)
    clock.turn(120 + GRACE_S + 1)
    assert told(time, clock, TIME).news == []


def test_notice_is_withdrawn_as_survived_when_both_keys_have_lost_it(
    action: InstanceAction, time: TerminationTime, clock: TurnedClock
) -> None:
    """Ten absences and five minutes after the deadline; a failed look at the older key is none."""
    told(action, clock, None)
    (notice,) = told(time, clock, TIME).news
    time.unknown()
    clock.turn(121 + GRACE_S)
    assert [told(action, clock, None).news for _ in range(20)] == [[]] * 20
    told(time, clock, None)
    news = [told(action, clock, None).news for _ in range(ABSENCES_TO_WITHDRAW)]
    (last,) = news[-1]
    assert (last.id, last.withdrawn, last.outcome) == (notice.id, True, "survived")


def test_target_state_is_a_termination_when_the_group_says_so(clock: TurnedClock) -> None:
    """One notice, though asked for over and over; taken back by a word, not by a single 404."""
    key = TargetLifecycleState(AwsInstance({}), None)
    assert told(key, clock, b"InService").news == []
    (notice,) = told(key, clock, b"Terminated").news
    assert (notice.kind, notice.deadline) == (NoticeKind.TERMINATION, None)
    clock.turn(30)
    assert told(key, clock, b"Terminated").news == told(key, clock, None).news == []
    (last,) = told(key, clock, b"InService").news
    assert (last.id, last.withdrawn, last.outcome) == (notice.id, True, "over")
    assert len(told(key, clock, b"Warmed:Terminated").news) == 1


@pytest.mark.parametrize("word", [b"null", b"Terminating", b"<html>"])
def test_target_state_takes_nothing_back_when_the_word_is_not_documented(
    clock: TurnedClock, word: bytes
) -> None:
    """One odd answer must not cost the notice; the group's own words still do."""
    key = TargetLifecycleState(AwsInstance({}), None)
    told(key, clock, b"Terminated")
    with pytest.raises(SourceMalformed):
        told(key, clock, word)
    assert told(key, clock, b"Terminated").news == []
    assert len(told(key, clock, b"InService").news) == 1


@pytest.mark.parametrize("empty", [b"[]", None, b"[]\n"])
def test_scheduled_event_is_over_when_the_list_is_empty_twice(
    clock: TurnedClock, empty: bytes | None
) -> None:
    """EC2's empty list and a 404 mean the same."""
    key = ScheduledEvents(AwsInstance({}), ())
    start = b'"NotBefore": "12 Dec 2026 09:00:00 GMT"'
    (notice,) = told(key, clock, EVENT % (b"active", start)).news
    assert notice.kind is NoticeKind.HARDWARE
    assert told(key, clock, empty).news == []
    (last,) = told(key, clock, empty).news
    assert (last.id, last.withdrawn) == (notice.id, True)


@pytest.mark.parametrize("state", [b"completed", b"canceled"])
def test_scheduled_event_is_over_when_it_is_listed_as_ended(
    clock: TurnedClock, state: bytes
) -> None:
    """It may stay in the list for a while, with its state and its old time."""
    key = ScheduledEvents(AwsInstance({}), ())
    start = b'"NotBefore": "12 Dec 2026 09:00:00 GMT"'
    told(key, clock, EVENT % (b"active", start))
    told(key, clock, EVENT % (state, start))
    (last,) = told(key, clock, EVENT % (state, start)).news
    assert (last.withdrawn, last.outcome) == (True, "over")


def test_scheduled_events_stay_when_the_list_can_not_be_read(clock: TurnedClock) -> None:
    """A body that is not EC2's ends nothing, however often it comes."""
    key = ScheduledEvents(AwsInstance({}), ())
    told(key, clock, EVENT % (b"active", b'"NotBefore": "12 Dec 2026 09:00:00 GMT"'))
    for _ in range(5):
        with pytest.raises(SourceMalformed):
            told(key, clock, b"<html></html>")
        key.unknown()
    assert told(key, clock, b"[]").news == []
