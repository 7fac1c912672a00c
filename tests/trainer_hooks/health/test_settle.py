"""The last look: findings of the last steps reach all ranks before the run has ended."""

import threading
from datetime import timedelta

import pytest

from tests.trainer_hooks.health.test_desk import FOUND, worlds
from trainer_hooks.health import settle as settling
from trainer_hooks.health.desk import Desk
from trainer_hooks.health.finding import Finding
from trainer_hooks.health.settle import settle


class Ruling:
    """A roll-back that rank 0 asks for, and the ranks agree on when they are told to."""

    def __init__(self) -> None:
        self.is_asked = False
        self.agreed = threading.Event()

    @property
    def is_awaited(self) -> bool:
        """Tell whether it was asked for and is not agreed on yet."""
        return self.is_asked and not self.agreed.is_set()

    def is_agreed(self) -> bool:
        """Tell whether all ranks stop."""
        return self.agreed.is_set()

    def ask(self, _: Finding) -> None:
        """Have it asked for."""
        self.is_asked = True


def test_nobody_goes_on_when_a_roll_back_is_asked_for_and_not_agreed_on() -> None:
    """Rank 1 has found it, rank 0 asks for it, and both wait until all ranks stop."""
    ruling = Ruling()
    zero, one = worlds()
    desks = [Desk(zero, ruling.ask), Desk(one, lambda _: None)]
    desks[1].put(lambda desk: desk.publish(FOUND))
    for desk in desks:
        desk.start()
    ends = [threading.Thread(target=settle, args=(desk, 7, ruling)) for desk in desks]
    for end in ends:
        end.start()
    while not ruling.is_asked:
        pass
    assert [end.is_alive() for end in ends] == [True, True]
    ruling.agreed.set()
    for end in ends:
        end.join(20.0)
    assert [end.is_alive() for end in ends] == [False, False]
    for desk in desks:
        desk.close()


def test_run_ends_when_a_rank_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its word, after a while; and the desk still works."""
    monkeypatch.setattr(settling, "SETTLE_S", 0.2)
    monkeypatch.setattr(settling, "_SETTLE", timedelta(seconds=0.2))
    for alone in worlds():
        desk, done = Desk(alone, lambda _: None), threading.Event()
        desk.start()
        settle(desk, 7, Ruling())
        desk.put(lambda _, done=done: done.set())  # type: ignore[misc]  # a default binds it
        assert done.wait(20.0)
        desk.close()


def test_nobody_waits_when_all_ranks_stop_anyway() -> None:
    """A deadline does not wait for guards."""
    ruling = Ruling()
    ruling.agreed.set()
    desk = Desk(worlds()[0], lambda _: None)  # not started: it would never be done
    settle(desk, 7, ruling)
