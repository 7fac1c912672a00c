"""Agreeing by a collective: what is said is fresh, the same for all, and of one boundary."""

import itertools
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.support.agreeing import notice
from tests.support.group_of_threads import GroupOfThreads
from tests.support.waiting import wait_until
from trainer_hooks import collective_agreement
from trainer_hooks.collective_agreement import CollectiveAgreement
from trainer_hooks.decision import Decision, Outcome, Position, Published
from trainer_hooks.errors import AgreementError
from trainer_hooks.flag import StopNotice
from trainer_hooks.rule import decide

JOINING = Position(-1)


class Ranks:
    """The agreements of two ranks, each to be called from a thread of its own."""

    def __init__(self) -> None:
        self.group = GroupOfThreads(2)
        self.notices: list[StopNotice | None] = [None, None]
        self.decided: list[list[Decision | None]] = [[], []]
        self.errors: list[AgreementError | None] = [None, None]
        self.agreements = [
            CollectiveAgreement(self.group.world(rank), lambda rank=rank: self.notices[rank])  # type: ignore[misc]  # a default argument
            for rank in range(2)
        ]

    def pass_on(self, rank: int, *boundaries: Position) -> threading.Thread:
        """Have a rank pass boundaries, or join and pass them, in a thread."""

        def run() -> None:
            try:
                for boundary in boundaries:
                    if boundary == JOINING:
                        self.agreements[rank].start()
                    self.decided[rank].append(self.agreements[rank].reached(*boundary))
            except AgreementError as error:
                self.errors[rank] = error

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def pass_all(self, *boundaries: Position) -> None:
        """Have both ranks pass boundaries."""
        join(self.pass_on(rank, *boundaries) for rank in range(2))


def join(threads: Iterable[threading.Thread]) -> None:
    """Wait for threads that must not hang."""
    for thread in list(threads):
        thread.join(20)
        assert not thread.is_alive()


def test_what_a_rank_says_is_as_new_as_the_last_rank() -> None:
    """Whoever came first has waited, for a minute perhaps, and its deadline has come nearer."""
    some = Ranks()
    some.pass_all(JOINING, Position(0))
    some.notices[0] = notice("old", left_s=600)
    some.pass_all(Position(1))  # here both are asked
    early = some.pass_on(0, Position(2))
    wait_until(lambda: some.group.waiting)
    some.notices[0] = notice("new", left_s=6)
    join([early, some.pass_on(1, Position(2))])
    for rank in range(2):
        decision = some.agreements[rank].stop
        assert decision is not None
        assert decision.causes == ("new",)


def test_all_ranks_take_one_decision_when_they_would_decide_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Odds that are as good as the limit may fall on either side of it on two kinds of CPU."""
    odd = itertools.count()

    def decide_oddly(records: Iterable[Published]) -> Decision:
        return replace(decide(records), why=str(next(odd)))

    monkeypatch.setattr(collective_agreement, "decide", decide_oddly)
    some = Ranks()
    some.notices[1] = notice("one")
    some.pass_all(JOINING)
    assert some.decided[0] == some.decided[1]
    (decision,) = some.decided[0]
    assert decision is not None
    assert decision.outcome is Outcome.STOP


@pytest.mark.parametrize("news", [None, notice("one")])
def test_it_is_an_error_when_ranks_pass_different_boundaries(news: StopNotice | None) -> None:
    """And not a collective that one of them never comes to."""
    some = Ranks()
    some.pass_all(JOINING, Position(0))
    some.notices[0] = news
    often = some.pass_on(0, Position(0, 1), Position(1), Position(2))
    seldom = some.pass_on(1, Position(1), Position(2))
    join([often, seldom])
    for error in some.errors:
        assert error is not None
        assert "equally often" in str(error)


def test_ranks_fail_when_one_has_gone_between_question_and_answer() -> None:
    """They do not wait for it, and it does not look like a loss of the Store."""
    some = Ranks()
    some.pass_all(JOINING, Position(0))
    left = some.pass_on(0, Position(1), Position(2))
    wait_until(lambda: some.group.waiting)
    some.group.leave(1)
    join([left])
    assert "a rank has gone" in str(some.errors[0])
    with suppress(AgreementError):
        assert some.agreements[0].reached(3) is None
        pytest.fail("nobody passes a boundary alone")
