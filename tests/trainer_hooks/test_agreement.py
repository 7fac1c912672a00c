"""All ranks act at one step: ranks as threads over one Store, with nothing else in common."""

import threading

import pytest

from tests.support.agreeing import (
    Rank,
    notice,
    ranks,
    rounds,
    start,
    stop_step,
    wait_for_end,
    wait_for_step,
)
from tests.support.waiting import wait_until
from trainer_hooks.decision import RESTORING, Outcome

ADVICE = notice("advice", is_stop=False)
STOP = notice("stop")


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_ranks_stop_at_one_step_when_one_has_a_notice(size: int, seed: int) -> None:
    """However fast each trains; and the fastest has not passed the step by then."""
    with ranks(size) as world:
        start(world, seed)
        wait_for_step(world, 5 + seed)
        world[seed % size].tell(STOP)
        assert stop_step(world) == 1 + max(rank.step for rank in world)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_ranks_stop_at_one_step_when_two_have_notices_at_once(seed: int) -> None:
    """One round; the earlier deadline counts on all, whoever was first."""
    with ranks(4) as world:
        start(world, seed)
        wait_for_step(world, 5)
        both = threading.Barrier(2)

        def tell(rank: Rank, left_s: float) -> None:
            rank.notice = notice(f"of-{left_s}", left_s=left_s)
            both.wait()
            rank.agreement.notify()

        tellers = [
            threading.Thread(target=tell, args=(world[number], left_s))
            for number, left_s in [(1, 90.0), (3, 30.0)]
        ]
        for teller in tellers:
            teller.start()
        stop_step(world)
        deadlines = [rank.agreement.deadline_s for rank in world]
        earliest = world[3].notice.deadline_s  # type: ignore[union-attr]  # told above
        assert deadlines == [pytest.approx(earliest, abs=5)] * 4
        assert {rank.agreement.stop.causes for rank in world if rank.agreement.stop} == {
            ("of-30.0", "of-90.0")
        }
        assert rounds(world) == [1] * 4


def test_notice_is_kept_when_not_all_have_joined() -> None:
    """The last one to come finds it: nothing is restored, nothing saved, all leave together."""
    with ranks(3) as world:
        start(world[:2])
        world[0].tell(STOP)
        wait_for_step(world[:2], 5)
        assert rounds(world) == [0, 0, 0]
        world[2].start()
        assert stop_step(world) >= 5


def test_ranks_stop_where_they_stand_when_all_come_with_a_notice() -> None:
    """Those that have passed no boundary are told at the first one they come to."""
    with ranks(3) as world:
        for rank in world:
            rank.notice = STOP
            rank.agreement.start()
        wait_until(lambda: all(rank.agreement.stop for rank in world))
        for rank in world:
            decision = rank.agreement.reached(RESTORING.step)
            assert decision is not None
            assert decision.outcome is Outcome.STOP


def test_ranks_agree_inside_a_step_when_the_main_threads_are_busy() -> None:
    """Nobody passes a boundary meanwhile: the decision is there before the step ends."""
    with ranks(3) as world:
        release = threading.Event()
        for rank in world:
            rank.in_step = lambda step: release.wait(20) if step == 4 else None  # type: ignore[assignment]  # nobody looks
        start(world)
        wait_for_step(world, 4)
        world[1].tell(STOP)
        wait_until(lambda: all(rank.agreement.stop for rank in world))
        assert not any(rank.has_ended for rank in world)
        release.set()
        assert stop_step(world) == 5


def test_stop_stays_when_it_is_asked_for_again() -> None:
    """And nothing that comes later changes it."""
    with ranks(2) as world:
        start(world)
        wait_for_step(world, 3)
        world[0].tell(STOP)
        step = stop_step(world)
        world[1].tell(notice("later"))
        for rank in world:
            decision = rank.agreement.reached(step + 1)
            assert decision is not None
            assert decision.outcome is Outcome.STOP
            assert decision is rank.agreement.stop
            assert rank.agreement.decided_at is not None


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_ranks_save_at_one_boundary_and_stop_at_another_when_advice_precedes_a_stop(
    seed: int,
) -> None:
    """However close they come, the save is skipped on none."""
    with ranks(3) as world:
        start(world, seed)
        wait_for_step(world, 5)
        world[0].tell(ADVICE)
        if seed % 2:
            wait_until(lambda: rounds(world) == [1, 1, 1])
        world[2].tell(STOP)
        step = stop_step(world)
        saved = [rank.saved for rank in world]
        assert saved == [saved[0]] * 3
        assert len(saved[0]) == 1 or (saved[0] == [] and not seed % 2)
        assert all(at <= step for at in saved[0])


def test_ranks_save_once_when_all_of_a_node_hear_the_advice_one_by_one() -> None:
    """Eight ranks of a node have eight listeners, a moment apart."""
    with ranks(3) as world:
        start(world)
        wait_for_step(world, 3)
        world[0].tell(ADVICE)
        wait_until(lambda: all(rank.saved for rank in world))
        for rank in world:
            rank.tell(ADVICE)
        wait_for_step(world, world[0].step + 20)
        assert {len(rank.saved) for rank in world} == {1}
        world[1].tell(notice("other advice", is_stop=False))
        wait_until(lambda: all(len(rank.saved) == 2 for rank in world))
        world[0].tell(STOP)
        stop_step(world)
        assert world[0].saved == world[1].saved == world[2].saved


def test_round_ends_as_none_when_the_notice_is_withdrawn_before_the_decision() -> None:
    """Nobody does anything, and a later notice, even of the same name, is heard."""
    with ranks(3) as world:
        withdraw = world[1]

        def vanish(operation: str, key: str) -> None:
            if (operation, key) == ("get", "round/0/news"):
                withdraw.notice = None

        withdraw.store.hold = vanish
        start(world)
        wait_for_step(world, 3)
        withdraw.tell(STOP)
        wait_until(lambda: rounds(world) == [1, 1, 1])
        wait_for_step(world, max(rank.step for rank in world) + 5)
        assert [rank.agreement.stop for rank in world] == [None] * 3
        withdraw.tell(STOP)
        stop_step(world)


def test_stop_is_final_when_it_is_withdrawn_after_the_decision() -> None:
    """A rank that has left cannot be called back."""
    with ranks(2) as world:
        release = threading.Event()
        world[1].in_step = lambda step: release.wait(20) if step == 4 else None  # type: ignore[assignment]  # nobody looks
        start(world)
        wait_for_step(world, 4)
        world[0].tell(STOP)
        wait_until(lambda: all(rank.agreement.stop for rank in world))
        world[0].tell(None)
        release.set()
        stop_step(world)


def test_slow_ranks_are_answered_when_a_fast_one_has_reached_its_end() -> None:
    """Its boundary is beyond theirs: all finish, nobody stops short, and all know of the stop."""
    with ranks(3) as world:
        for rank in world:
            rank.until = 30
        world[0].step_s = 0.0
        world[1].step_s = world[2].step_s = 0.01
        start(world)
        wait_until(lambda: world[0].has_ended)
        assert world[1].step < 30
        world[1].tell(STOP)
        wait_for_end(world)
        assert [rank.step for rank in world] == [30] * 3
        assert [rank.stopped_at for rank in world] == [None] * 3
        assert all(rank.agreement.stop for rank in world)
