"""What a rank makes of peers that are gone: a crash, or that their guards were a moment earlier."""

from typing import Any

import pytest

from trainer_hooks.clock import boottime_s
from trainer_hooks.results import RankState
from trainer_hooks.run import Run

GONE = RuntimeError("[127.0.0.1]:1234: Connection closed by peer")


class Ended(BaseException):
    """Stands for the end of the process."""


class Asked:
    """A run of which it is known what it tells, and that ends nobody's process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, exits: bool = True) -> None:
        self.run = Run(exits=exits)
        self.told: list[RankState] = []

        def end() -> Any:  # noqa: ANN401 - it never returns
            raise Ended

        monkeypatch.setattr(self.run, "_tell", self.told.append)
        monkeypatch.setattr(self.run, "_leave_now", end)


def test_rank_leaves_as_agreed_when_its_peers_guards_were_a_moment_earlier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All guards act at one instant, and no two of them do: nobody has crashed."""
    asked = Asked(monkeypatch)
    asked.run.guard.deadline_s = boottime_s() + 1.5
    with pytest.raises(Ended):
        asked.run.give_up(GONE)
    assert asked.told == []


@pytest.mark.parametrize("left_s", [None, 100.0])
def test_peer_is_lost_when_it_goes_before_its_time(
    monkeypatch: pytest.MonkeyPatch, left_s: float | None
) -> None:
    """With a stop agreed on or without."""
    asked = Asked(monkeypatch)
    asked.run.guard.deadline_s = None if left_s is None else boottime_s() + left_s
    assert asked.run.give_up(GONE)
    assert asked.told == [RankState.LOST]


def test_bug_is_a_bug_also_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the loss of a peer is what an early guard looks like."""
    asked = Asked(monkeypatch)
    asked.run.guard.deadline_s = boottime_s() + 1.5
    assert asked.run.give_up(ValueError("a bug"))
    assert asked.told == []


def test_program_that_leaves_by_itself_is_left_to_do_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has asked not to be ended."""
    asked = Asked(monkeypatch, exits=False)
    asked.run.guard.deadline_s = boottime_s() + 1.5
    assert asked.run.give_up(GONE)
    assert asked.told == [RankState.LOST]
