"""Azure's events look after look: what is news, what is another look, and what is over."""

from tests.support.azure_bodies import ME, body, document, event
from tests.support.clocks import TurnedClock
from watcher.notice import Deadline, Notice
from watcher.policy import stand
from watcher.sources.azure_document import Document, parse_document
from watcher.sources.azure_schedule import LOOKS_TO_WITHDRAW, Schedule
from watcher.sources.level import GRACE_S, withdrawal
from watcher.state import State

SOON = "Mon, 30 Nov 2026 10:05:36 GMT"
IN_15_MIN = "Mon, 30 Nov 2026 10:20:06 GMT"


class Watched:
    """A schedule, and the server whose documents it sees."""

    def __init__(self, clock: TurnedClock, *standing: Notice) -> None:
        self.clock = clock
        self.schedule = Schedule(standing)

    def look(self, *events: object, incarnation: object = 2) -> list[Notice]:
        """Look at a document with these events, a second later."""
        self.clock.turn(1)
        return self.see(document(*events, incarnation=incarnation))

    def see(self, data: bytes) -> list[Notice]:
        """Look at a document."""
        return self.schedule.seen(parsed(data, self.clock), self.clock())

    def until_over(self, incarnation: object, most: int = 20) -> int:
        """Look at documents without events until there is news; return how many that took."""
        for looks in range(1, most + 1):
            if self.look(incarnation=incarnation):
                return looks
        return 0


def parsed(data: bytes, clock: TurnedClock) -> Document:
    """Parse a document for this machine."""
    return parse_document(data, clock(), ME)


def test_schedule_tells_each_event_once_when_the_document_stays(clock: TurnedClock) -> None:
    """Two of ours and one of another's: two notices, at the first look."""
    watched = Watched(clock)
    assert [notice.action for notice in watched.see(body("several"))] == ["Reboot", "Freeze"]
    clock.turn(1)
    assert watched.see(body("several")) == []


def test_schedule_keeps_the_first_deadline_when_the_event_starts_in_time(
    clock: TurnedClock,
) -> None:
    """What was known all along is no news, and nobody is signalled twice."""
    watched = Watched(clock)
    watched.look(event("preempt", NotBefore=SOON))
    clock.turn(28)
    assert watched.look(event("preempt-started"), incarnation=3) == []


def test_schedule_brings_the_deadline_nearer_when_the_event_starts_early(
    clock: TurnedClock,
) -> None:
    """Somebody has approved it: the notice is the same, and no time is left."""
    watched = Watched(clock)
    (first,) = watched.look(event("freeze", NotBefore=IN_15_MIN))
    (second,) = watched.look(event("freeze-started"), incarnation=3)
    assert second.id == first.id
    assert second.deadline == Deadline.after(clock(), 0)
    assert watched.look(event("freeze-started"), incarnation=3) == []


def test_schedule_does_not_believe_a_time_when_it_is_put_off(clock: TurnedClock) -> None:
    """Azure guarantees the first one as the earliest, and documents no other."""
    watched = Watched(clock)
    watched.look(event("reboot-by-user", NotBefore=SOON))
    for second in range(20):
        later = f"Mon, 30 Nov 2026 11:05:{second:02} GMT"
        assert watched.look(event("reboot-by-user", NotBefore=later), incarnation=3) == []


def test_schedule_tells_the_time_when_it_could_not_be_read_at_first(clock: TurnedClock) -> None:
    """The same notice, now with a deadline."""
    watched = Watched(clock)
    (first,) = watched.look(event("preempt", NotBefore="soon"))
    (second,) = watched.look(event("preempt", NotBefore=SOON))
    assert (first.id, first.deadline) == (second.id, None)
    assert watched.look(event("preempt", NotBefore="soon")) == []


def test_schedule_takes_the_earliest_when_an_event_is_listed_twice(clock: TurnedClock) -> None:
    """Whatever their order."""
    watched = Watched(clock)
    late, early = (event("reboot-by-user", NotBefore=time) for time in (IN_15_MIN, SOON))
    (told,) = watched.look(late, early)
    assert told.detail["NotBefore"] == SOON


def test_event_is_over_when_it_has_gone_for_some_looks(clock: TurnedClock) -> None:
    """Done or canceled, which Azure does not tell apart."""
    watched = Watched(clock)
    (told,) = watched.look(event("preempt"))
    for _ in range(LOOKS_TO_WITHDRAW - 1):
        assert watched.look(incarnation=3) == []
    assert watched.look(incarnation=3) == [withdrawal(told, "over")]
    assert watched.look(incarnation=3) == []


def test_event_stays_when_it_comes_back(clock: TurnedClock) -> None:
    """Looks without it only count in a row."""
    watched = Watched(clock)
    watched.look(event("preempt"))
    for _ in range(3 * LOOKS_TO_WITHDRAW):
        for _ in range(LOOKS_TO_WITHDRAW - 1):
            assert watched.look(incarnation=3) == []
        assert watched.look(event("preempt"), incarnation=4) == []


def test_event_stays_when_a_fetch_fails_in_between(clock: TurnedClock) -> None:
    """Unknown is not absent."""
    watched = Watched(clock)
    watched.look(event("preempt"))
    for _ in range(3 * LOOKS_TO_WITHDRAW):
        assert watched.look(incarnation=3) == []
        watched.schedule.unknown()


def test_event_stays_when_the_document_can_not_be_read_whole(clock: TurnedClock) -> None:
    """The entry that is no event may be the one."""
    watched = Watched(clock)
    watched.look(event("preempt"), event("freeze"))
    for _ in range(3 * LOOKS_TO_WITHDRAW):
        assert watched.look(event("freeze"), None, incarnation=3) == []


def test_event_stays_longer_when_the_incarnation_has_not_changed(clock: TurnedClock) -> None:
    """A document that contradicts itself is believed only long after the event's time."""
    watched = Watched(clock)
    (told,) = watched.look(event("preempt"))
    assert watched.until_over(incarnation=2) == 0
    clock.turn(30 + GRACE_S)
    assert watched.look(incarnation=2) == [withdrawal(told, "over")]


def test_event_stays_longer_when_the_last_document_with_it_had_that_incarnation(
    clock: TurnedClock,
) -> None:
    """An event of another machine has made it rise meanwhile."""
    watched = Watched(clock)
    watched.look(event("preempt"), incarnation=2)
    watched.look(event("preempt"), event("sibling"), incarnation=3)
    assert watched.until_over(incarnation=3) == 0
    assert watched.until_over(incarnation=4) == 1


def test_event_is_over_when_the_incarnation_is_another_or_unknown(clock: TurnedClock) -> None:
    """It may jump, start anew, or be missing; after a restart nobody knows the old one."""
    for before, after in ((2, 3), (2, 7), (7, 1), (None, 2), (2, None), (None, None)):
        watched = Watched(clock)
        watched.look(event("preempt"), incarnation=before)
        assert watched.until_over(incarnation=after) == LOOKS_TO_WITHDRAW
    (adopted,) = parsed(body("preempt"), clock).events
    assert Watched(clock, adopted.notice).until_over(incarnation=2) == LOOKS_TO_WITHDRAW


def test_adopted_event_is_no_news_when_it_is_still_there(clock: TurnedClock) -> None:
    """A restart of the daemon repeats nothing."""
    (adopted,) = parsed(body("preempt"), clock).events
    assert Watched(clock, adopted.notice).look(event("preempt")) == []


def test_other_events_stay_when_one_is_over(clock: TurnedClock) -> None:
    """Each is withdrawn by itself."""
    watched = Watched(clock)
    watched.look(event("preempt"), event("freeze"))
    gone = [watched.look(event("freeze"), incarnation=3) for _ in range(LOOKS_TO_WITHDRAW)]
    (withdrawn,) = gone[-1]
    assert withdrawn.withdrawn
    assert withdrawn.action == "Preempt"
    assert gone[:-1] == [[]] * (LOOKS_TO_WITHDRAW - 1)


def test_withdrawal_takes_back_what_was_brought_nearer_when_it_is_over(
    clock: TurnedClock,
) -> None:
    """The state takes the notice out of force, whatever it was told last."""
    watched, state = Watched(clock), State()
    for news in (
        watched.look(event("freeze", NotBefore=IN_15_MIN)),
        watched.look(event("freeze-started"), incarnation=3),
    ):
        assert state.admit(stand(news[0]), clock()) is not None
    for _ in range(LOOKS_TO_WITHDRAW):
        news = watched.look(incarnation=4)
    (over,) = news
    assert state.retire(over, clock()) is not None
    assert state.in_force() == ()
