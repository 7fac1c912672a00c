"""Late threads and lost Stores: nobody stops alone, and nobody waits for ever."""

import threading

import pytest

from tests.support.agreeing import (
    notice,
    ranks,
    rounds,
    start,
    stop_step,
    wait_for_end,
    wait_for_step,
)
from tests.support.waiting import wait_until
from trainer_hooks import agreement

ADVICE = notice("advice", is_stop=False)
STOP = notice("stop")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on a late rank after a tenth of a second."""
    monkeypatch.setattr(agreement, "patience_s", lambda _left_s: 0.1)


@pytest.mark.usefixtures("impatient")
def test_everybody_trains_on_when_one_thread_is_late() -> None:
    """Rounds abort on all until it answers; then all stop at one step."""
    with ranks(3) as world:
        release = threading.Event()
        late = world[2]
        late.store.hold = lambda operation, key: (  # type: ignore[assignment]  # nobody looks
            release.wait(20) if (operation, key) == ("get", "round/0/news") else None
        )
        start(world)
        wait_for_step(world, 3)
        world[0].tell(STOP)
        wait_until(lambda: rounds(world[:2]) >= [2, 2])
        wait_for_step(world, max(rank.step for rank in world) + 5)
        assert [rank.agreement.stop for rank in world] == [None] * 3
        assert rounds([late]) == [0]
        release.set()
        stop_step(world)
        assert len(set(rounds(world))) == 1


@pytest.mark.usefixtures("impatient")
def test_everybody_trains_on_when_a_rank_is_late_behind_its_gate() -> None:
    """Its own training waits for it, the others' does not."""
    with ranks(3) as world:
        release = threading.Event()
        late = world[1]
        late.store.hold = lambda operation, key: (  # type: ignore[assignment]  # nobody looks
            release.wait(20) if (operation, key) == ("append", "round/0/published") else None
        )
        start(world)
        wait_for_step(world, 3)
        world[0].tell(STOP)
        wait_until(lambda: rounds([world[0], world[2]]) >= [2, 2])
        assert [rank.agreement.stop for rank in world] == [None] * 3
        release.set()
        stop_step(world)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "where",
    [
        ("wait", "open"),
        ("wait", "round/0/news"),
        ("get", "round/0/news"),
        ("append", "round/0/published"),
        ("add", "round/0/count"),
        ("wait", "round/0/decision"),
        ("get", "round/0/decision"),
    ],
)
def test_lost_store_is_a_crash_when_it_breaks_at_any_operation(where: tuple[str, str]) -> None:
    """The next boundary says so; the rank never takes it for a stop."""
    with ranks(2) as world:
        broken = world[1]

        def hold(*operation: str) -> None:
            if operation == where:
                broken.store.is_broken.set()

        broken.store.hold = hold
        start(world)
        wait_for_step(world[:1], 2)
        world[0].tell(STOP)
        wait_until(lambda: broken.has_ended)
        assert "the Store is lost" in str(broken.error)
        assert broken.stopped_at is None
        world[0].until = 0


def test_lost_store_is_a_crash_when_it_breaks_before_all_have_joined() -> None:
    """Nobody trains on his own."""
    with ranks(2) as world:
        world[1].store.is_broken.set()
        world[1].start()
        wait_until(lambda: world[1].has_ended)
        assert "the Store is lost" in str(world[1].error)
        assert world[1].step < 0


def test_lost_store_is_a_crash_when_nobody_has_news() -> None:
    """A thread that waits for news hears of it."""
    with ranks(2) as world:
        start(world)
        wait_for_step(world, 2)
        for rank in world:
            rank.store.is_broken.set()
        wait_for_end(world)
        assert all("connection reset" in str(rank.error) for rank in world)


def test_notify_returns_when_the_store_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    """The listener's thread outlives the job's Store."""
    with ranks(1) as world:
        start(world)
        wait_until(lambda: world[0].agreement._is_open)
        world[0].store.is_broken.set()
        world[0].tell(STOP)
        assert "news could not be told" in caplog.text


def test_foreign_value_is_a_crash_when_it_stands_for_a_decision() -> None:
    """Another program writes to our keys: nobody acts on that."""
    with ranks(1) as world:
        world[0].store._inner.set("round/0/decision", '{"outcome": "stop"}')
        start(world)
        wait_for_step(world, 2)
        world[0].tell(STOP)
        wait_for_end(world)
        assert "no decision of ours" in str(world[0].error)
        assert world[0].stopped_at is None


def test_threads_end_when_the_agreement_is_closed() -> None:
    """One waits for news, one has decided a stop, and closing twice is harmless."""
    with ranks(2) as waiting, ranks(1) as stopped, ranks(1) as unstarted:
        start([*waiting, *stopped])
        wait_until(lambda: all(rank.agreement._is_open for rank in [*waiting, *stopped]))
        stopped[0].tell(STOP)
        stop_step(stopped)
        for rank in [*waiting, *stopped, *unstarted]:
            rank.until = 0
            rank.agreement.close()
            rank.agreement.close()
        assert not any(rank.agreement._thread.is_alive() for rank in [*waiting, *stopped])
        wait_for_end(waiting)
        assert [rank.error for rank in waiting] == [None, None]


def test_thread_ends_when_it_is_closed_while_it_answers_a_round() -> None:
    """The next round, which nobody will open, is not waited for."""
    with ranks(1) as world:
        answering, release = threading.Event(), threading.Event()

        def hold(operation: str, key: str) -> None:
            if (operation, key) == ("get", "round/0/decision"):
                answering.set()
                release.wait(20)

        world[0].store.hold = hold
        start(world)
        wait_for_step(world, 2)
        world[0].tell(ADVICE)
        assert answering.wait(20)
        threading.Timer(0.2, release.set).start()
        world[0].agreement.close()
        assert not world[0].agreement._thread.is_alive()
        world[0].until = 0
        wait_for_end(world)


def test_nearer_deadline_is_heard_when_older_news_came_as_the_stop_was_decided() -> None:
    """A listener has looked before the decision, and told in the round after it."""
    with ranks(2) as world:
        start(world)
        wait_for_step(world, 3)
        world[0].tell(notice("stop"))
        stop_step(world)
        wait_until(lambda: rounds(world) == [1, 1])
        world[0].store._inner.set("round/1/news", '{"left_s": null}')
        wait_until(lambda: rounds(world) == [2, 2])
        sooner = notice("sooner", left_s=10.0)
        world[1].tell(sooner)
        wait_until(lambda: rounds(world) == [3, 3])
        assert [rank.agreement.deadline_s for rank in world] == [
            pytest.approx(sooner.deadline_s, abs=5)
        ] * 2
