"""What a rank makes of peers that are gone: a crash, or that their guards were a moment earlier."""

from collections.abc import Callable
from typing import Any

import pytest

from trainer_hooks import ending
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

        monkeypatch.setattr(self.run, "tell", self.told.append)
        monkeypatch.setattr(self.run.ending, "leave_now", end)


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


def bereft(monkeypatch: pytest.MonkeyPatch, asked: Asked, *, has_left: bool = False) -> list[int]:
    """Lose a peer's machine; return the codes that the process was ended with."""
    codes: list[int] = []
    monkeypatch.setattr(ending, "exit_at_once", codes.append)
    asked.run.ending.leave_bereft("rank 3 is lost", lambda: has_left)
    return codes


def test_rank_leaves_with_76_when_a_machine_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After the save in flight has had its time, and with a word for the launcher."""
    asked = Asked(monkeypatch)
    limits: list[float] = []

    def is_flushed(limit_s: Callable[[], float | None], *, is_alone: bool) -> bool:
        assert asked.told == []
        assert is_alone  # so that the others hear of it
        limits.append((limit_s() or 0.0) - boottime_s())
        return True

    monkeypatch.setattr(asked.run, "is_flushed", is_flushed)
    assert bereft(monkeypatch, asked) == [76]
    assert asked.told == [RankState.LOST]
    assert limits == [pytest.approx(20, abs=1)]
    assert "rank 3 is lost; leaving with 76" in caplog.text


def test_rank_leaves_as_agreed_when_a_machine_is_lost_at_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The node that was announced to go has gone."""
    asked = Asked(monkeypatch)
    asked.run.guard.deadline_s = boottime_s() + 1.5
    with pytest.raises(Ended):
        bereft(monkeypatch, asked)
    assert asked.told == []


def test_rank_ends_as_it_was_about_to_when_it_has_left_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it has told its launcher stands."""
    asked = Asked(monkeypatch)
    assert bereft(monkeypatch, asked, has_left=True) == []
    assert asked.told == []


def test_program_is_not_ended_when_it_leaves_by_itself_and_a_machine_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It reads in its log who is lost."""
    asked = Asked(monkeypatch, exits=False)
    assert bereft(monkeypatch, asked) == []
    assert "rank 3 is lost; the program is not ended" in caplog.text
