"""Every interleaving of the protocol: three ranks, two notices, a withdrawal, a late thread.

The model is the protocol as agreement.py has it, one action for each moment at which another rank
can come between; the rule it applies is the real one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import pytest

from trainer_hooks.decision import Decision, Outcome, Position, Published, decide

SIZE, UNTIL, ROUNDS = 3, 2, 2
STOPPED, ADVISED, LATE = 0, 1, 2
"""Whose node gets a stop notice, which may be withdrawn, whose gets advice, who may be late."""

Rule = Callable[[Sequence[Published]], Decision]
T = TypeVar("T")


class Act(NamedTuple):
    """A decision, in few words."""

    outcome: str
    last: int = 0


class Rank(NamedTuple):
    """One rank: its training thread, and the thread that answers rounds."""

    passed: int = 0
    round: int = 0
    is_closed: bool = False
    """Its gate, from its publishing in the round to the decision."""
    decided: tuple[Act, ...] = ()
    saved: tuple[int, ...] = ()
    stopped_at: int = 0
    notice: str = "to come"
    """Then "in force", and "over" once it is handled or withdrawn."""


class Round(NamedTuple):
    """What the Store holds of a round."""

    has_news: bool = False
    said: tuple[tuple[int, int, bool], ...] = ()
    """By each rank: its number, the boundary it has passed, whether it has a notice."""
    decision: Act | None = None


class State(NamedTuple):
    """All ranks, and the Store."""

    ranks: tuple[Rank, ...] = (Rank(),) * SIZE
    rounds: tuple[Round, ...] = (Round(),) * ROUNDS


def put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    """Return the tuple with another item."""
    return (*items[:index], item, *items[index + 1 :])


def following(state: State, rule: Rule) -> Iterator[State]:
    """Yield every state that one action of one rank, or of the cloud, leads to."""
    for number, rank in enumerate(state.ranks):
        if not rank.is_closed and not rank.stopped_at and rank.passed < UNTIL:
            yield State(put(state.ranks, number, train(rank)), state.rounds)
        if rank.round == ROUNDS or any(act.outcome is Outcome.STOP for act in rank.decided):
            continue
        before = state.rounds[rank.round]
        for now, after in talk(number, rank, before, rule):
            ranks = put(state.ranks, number, now)
            is_past = all(r.round > rank.round for r in ranks)
            yield State(ranks, put(state.rounds, rank.round, Round() if is_past else after))


def train(rank: Rank) -> Rank:
    """Come to the next boundary: pass it, save there, or stop there (``reached``)."""
    boundary = rank.passed + 1
    if not rank.decided or boundary <= rank.decided[0].last:
        return rank._replace(passed=boundary)
    if rank.decided[0].outcome is Outcome.STOP:
        return rank._replace(stopped_at=boundary)
    return rank._replace(decided=rank.decided[1:], saved=(*rank.saved, boundary))


def talk(number: int, rank: Rank, now: Round, rule: Rule) -> Iterator[tuple[Rank, Round]]:
    """Yield what the rank's other threads can do: the rank and the round afterwards."""
    if rank.notice == "to come" and number != LATE:
        yield rank._replace(notice="in force"), now
    if rank.notice == "in force" and number == STOPPED:
        yield rank._replace(notice="over"), now
    if rank.notice == "in force" and not now.has_news:
        yield rank, now._replace(has_news=True)
    if now.has_news and not rank.is_closed:
        said = tuple(sorted((*now.said, (number, rank.passed, rank.notice == "in force"))))
        decision = now.decision
        if len(said) == SIZE and decision is None:
            decision = decided(said, rule)
        yield rank._replace(is_closed=True), now._replace(said=said, decision=decision)
    if rank.is_closed and now.decision is not None:
        yield take(number, rank, now), now
    elif rank.is_closed and all(speaker != LATE for speaker, _, _ in now.said):
        yield rank, now._replace(decision=Act(Outcome.ABORT))


def decided(said: Sequence[tuple[int, int, bool]], rule: Rule) -> Act:
    """Apply the rule to what all have said."""
    decision = rule(
        [
            Published(
                rank=number,
                position=Position(passed),
                notice_id=str(number) if has_notice else None,
                is_stop=number == STOPPED,
            )
            for number, passed, has_notice in said
        ]
    )
    return Act(decision.outcome, decision.last.step if decision.last else 0)


def take(number: int, rank: Rank, now: Round) -> Rank:
    """Learn the decision, and open the gate."""
    act = now.decision
    assert act is not None
    is_handled = act.outcome is not Outcome.ABORT and (number, True) in [
        (speaker, has_notice) for speaker, _, has_notice in now.said
    ]
    acts = (act,) if act.outcome in (Outcome.STOP, Outcome.SAVE) else ()
    return rank._replace(
        is_closed=False,
        round=rank.round + 1,
        decided=(*rank.decided, *acts),
        notice="over" if is_handled else rank.notice,
    )


def fault(rule: Rule) -> str | None:
    """Walk all states; return what is wrong in the first bad one."""
    seen, unseen = {State()}, [State()]
    while unseen:
        state = unseen.pop()
        following_states = set(following(state, rule)) - {state}
        unseen.extend(following_states - seen)
        seen |= following_states
        stops = {rank.stopped_at for rank in state.ranks} - {0}
        if len(stops) > 1 or any(rank.passed >= stop for stop in stops for rank in state.ranks):
            return f"ranks act at different steps: {state}"
        if following_states:
            continue
        if len({(rank.saved, rank.stopped_at) for rank in state.ranks}) > 1:
            return f"ranks end differently: {state}"
        if any(not rank.stopped_at and rank.passed < UNTIL for rank in state.ranks):
            return f"a rank hangs: {state}"
    return None


def test_ranks_end_alike_when_anything_comes_between_anything() -> None:
    """All stop at one step or none does, all save at one step or none does, and none hangs."""
    assert fault(decide) is None


@pytest.mark.parametrize("choose", [min, lambda positions: Position(max(positions).step - 1)])
def test_model_finds_a_fault_when_the_rule_is_broken(
    choose: Callable[[list[Position]], Position],
) -> None:
    """Acting beyond the slowest rank, or at the fastest one's own boundary, parts them."""

    def broken(records: Sequence[Published]) -> Decision:
        last = choose([record.position for record in records])
        decision = decide(records)
        return replace(decision, last=last) if decision.last is not None else decision

    assert "different" in (fault(broken) or "")
