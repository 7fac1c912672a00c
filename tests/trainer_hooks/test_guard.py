"""The guard: it acts before the earliest deadline, once, and not when the process leaves itself."""

import logging
import threading
from collections.abc import Iterator

import pytest

from tests.support.leaks import thread_names
from tests.support.waiting import wait_until
from trainer_hooks import guard
from trainer_hooks.at_stop import LEAST_S
from trainer_hooks.clock import boottime_s
from trainer_hooks.guard import LEAD_S, Guard


class Left:
    """Counts how often the guard has ended the process."""

    def __init__(self) -> None:
        self.times = 0
        self.event = threading.Event()

    def __call__(self) -> None:
        self.times += 1
        self.event.set()


@pytest.fixture
def left() -> Left:
    """Count instead of ending the process."""
    return Left()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a stop no least time."""
    monkeypatch.setattr(guard, "LEAST_S", 0.0)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Each test ends its own guard."""
    before = thread_names()
    yield
    wait_until(lambda: thread_names() == before)


@pytest.mark.usefixtures("at_once")
def test_guard_acts_when_its_deadline_comes(left: Left) -> None:
    """A second early, and only once, however often it was armed."""
    watched = Guard(left)
    for _ in range(3):
        watched.arm(boottime_s() + LEAD_S + 0.05)
    assert left.event.wait(20)
    watched.close()
    assert left.times == 1
    assert watched.deadline_s is not None
    assert boottime_s() >= watched.deadline_s - LEAD_S


@pytest.mark.usefixtures("at_once")
def test_guard_acts_at_the_earliest_when_it_is_armed_with_several(left: Left) -> None:
    """A later one changes nothing, an earlier one is heard while it waits."""
    watched = Guard(left)
    first = boottime_s() + 1000
    watched.arm(first)
    watched.arm(first + 1000)
    watched.arm(None)
    assert watched.deadline_s == first
    earliest = boottime_s() + LEAD_S + 0.05
    watched.arm(earliest)
    assert watched.deadline_s == earliest
    assert left.event.wait(20)
    watched.close()


@pytest.mark.usefixtures("at_once")
def test_guard_acts_when_the_log_is_stuck(left: Left) -> None:
    """The training may hang in a log line, and hold its lock."""
    stuck, release = logging.Handler(), threading.Event()
    stuck.emit = lambda _: release.wait(30)  # type: ignore[assignment, method-assign]  # nobody looks
    guard.log.addHandler(stuck)
    watched = Guard(left)
    watched.arm(boottime_s() + LEAD_S)
    assert left.event.wait(20)
    guard.log.removeHandler(stuck)
    release.set()
    watched.close()


def test_guard_does_nothing_when_it_was_closed_in_time(left: Left) -> None:
    """The process leaves by itself."""
    watched = Guard(left)
    watched.arm(boottime_s() + 1000)
    watched.close()
    assert left.times == 0


def test_guard_does_nothing_when_no_deadline_is_known(left: Left) -> None:
    """It never invents one."""
    watched = Guard(left)
    watched.arm(None)
    assert watched.deadline_s is None
    watched.close()
    assert left.times == 0


def test_stop_has_its_least_time_when_the_deadline_is_past(
    left: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted from when the stop was decided: being armed again gives no more, a new stop does."""
    now = 1000.0
    monkeypatch.setattr(guard, "boottime_s", lambda: now)
    watched = Guard(left)
    watched.arm(900.0)
    assert watched.deadline_s == 1000.0 + LEAST_S
    now = 1003.0
    watched.arm(950.0)
    assert watched.deadline_s == 1000.0 + LEAST_S
    watched.disarm()
    watched.arm(950.0)
    assert watched.deadline_s == 1003.0 + LEAST_S
    watched.close()


@pytest.mark.usefixtures("at_once")
def test_guard_forgets_when_it_is_disarmed_and_acts_when_it_is_armed_again(left: Left) -> None:
    """In the thread that watched before."""
    watched = Guard(left)
    watched.arm(boottime_s() + 1000)
    watched.disarm()
    assert watched.deadline_s is None
    assert watched.leave_by_s() is None
    watched.arm(boottime_s() + LEAD_S + 0.05)
    assert left.event.wait(20)
    watched.close()
    assert left.times == 1


@pytest.mark.usefixtures("at_once")
def test_guard_acts_when_it_is_held_for_good_and_all_else_is_off(left: Left) -> None:
    """The launcher is dead: no round of the others can give its ranks more time."""
    watched = Guard(left)
    watched.arm_for_good(last := boottime_s() + 1000)
    watched.arm(boottime_s() + 500)
    watched.disarm()
    assert watched.deadline_s == last
    watched.arm_for_good(boottime_s() + LEAD_S + 0.05)
    watched.disarm()
    assert left.event.wait(20)
    watched.close()


def test_deadline_is_known_when_the_program_leaves_by_itself() -> None:
    """Then nobody ends it, but the exit still has its limit."""
    watched = Guard(None)
    deadline_s = boottime_s() + 100
    watched.arm(deadline_s)
    assert watched.deadline_s == deadline_s
    watched.close()


@pytest.mark.usefixtures("at_once")
def test_guard_acts_on_a_nearer_deadline_when_the_first_was_centuries_away(left: Left) -> None:
    """The last day of the year 9999 is further than any wait can be."""
    watched = Guard(left)
    watched.arm(boottime_s() + 2.5e11)
    wait_until(lambda: "reprieve-guard" in thread_names())
    watched.arm(boottime_s() + LEAD_S + 0.05)
    assert left.event.wait(20)
    watched.close()
