"""Every interleaving of the protocol: three ranks, two notices, a withdrawal, a late thread.

In some worlds a stop is planned by figures that differ between ranks and steps, and in some the
run may go on to its end until a shorter deadline calls that off.

The model is the protocol as agreement.py has it, one action for each moment at which another rank
can come between; the rule it applies is the real one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import pytest

from tests.support.published import figures
from trainer_hooks.at_stop import AtStop, Figures
from trainer_hooks.decision import Decision, Outcome, Position, Published
from trainer_hooks.rule import decide

SIZE, UNTIL, ROUNDS = 3, 2, 2
STOPPED, ADVISED, LATE = 0, 1, 2
"""Whose node gets a stop notice, which may be withdrawn, whose gets advice, who may be late."""

Said = Sequence[tuple[int, int, bool]]
"""By each rank: its number, the boundary it has passed, whether it has a notice."""
Rule = Callable[[Sequence[Published]], Decision]
T = TypeVar("T")


class World(NamedTuple):
    """What ranks measure in it, and how long they have."""

    left_s: tuple[float, ...] = (30.0, 30.0)
    """To the stop notice's deadline, by round."""
    figures: Callable[[int], Figures | None] = lambda _: None
    """By the boundary that a rank has passed."""


WORLDS = {
    "each step has another plan": World(
        figures=lambda passed: figures(
            saves_s=((1.0,), (20.0,) * 8, (60.0,) * 8)[passed],
            in_flight_s=0.0 if passed == 1 else None,
        )
    ),
    "the end comes first, until the deadline is nearer": World(
        left_s=(1000.0, 30.0), figures=lambda _: figures(until=UNTIL, saves_s=(20.0,) * 8)
    ),
}


ENDS: dict[str, set[tuple[int, AtStop | None]]] = {
    "each step has another plan": {(0, None), (1, AtStop.EMERGENCY), (2, AtStop.FINISH)},
    "the end comes first, until the deadline is nearer": {
        (0, None),
        (1, AtStop.NONE),
        (2, AtStop.NONE),
    },
}
"""In each world, where ranks can stop and what is done there; 0 is nowhere."""


class Act(NamedTuple):
    """A decision, in few words."""

    outcome: str
    last: int = 0
    at_stop: str | None = None


class Rank(NamedTuple):
    """One rank: its training thread, and the thread that answers rounds."""

    passed: int = 0
    round: int = 0
    is_closed: bool = False
    """Its gate, from its publishing in the round to the decision."""
    decided: tuple[Act, ...] = ()
    saved: tuple[int, ...] = ()
    stopped_at: int = 0
    at_stop: str | None = None
    is_to_end: bool = False
    """It goes on to its end, as was decided last."""
    notice: str = "to come"
    """Then "in force", and "over" once it is handled or withdrawn."""


class Round(NamedTuple):
    """What the Store holds of a round."""

    has_news: bool = False
    said: tuple[tuple[int, int, bool], ...] = ()
    decision: Act | None = None


class State(NamedTuple):
    """All ranks, and the Store."""

    ranks: tuple[Rank, ...] = (Rank(),) * SIZE
    rounds: tuple[Round, ...] = (Round(),) * ROUNDS


def put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    """Return the tuple with another item."""
    return (*items[:index], item, *items[index + 1 :])


def following(state: State, rule: Rule, world: World) -> Iterator[State]:
    """Yield every state that one action of one rank, or of the cloud, leads to."""
    for number, rank in enumerate(state.ranks):
        if not rank.is_closed and not rank.stopped_at and rank.passed < UNTIL:
            yield State(put(state.ranks, number, train(rank)), state.rounds)
        if rank.round == ROUNDS or any(act.outcome is Outcome.STOP for act in rank.decided):
            continue
        before = state.rounds[rank.round]
        for now, after in talk(number, rank, before, lambda said: decided(said, rule, world, rank)):  # noqa: B023 - called at once
            ranks = put(state.ranks, number, now)
            is_past = all(r.round > rank.round for r in ranks)
            yield State(ranks, put(state.rounds, rank.round, Round() if is_past else after))


def train(rank: Rank) -> Rank:
    """Come to the next boundary: pass it, save there, or stop there (``reached``)."""
    boundary = rank.passed + 1
    if not rank.decided or boundary <= rank.decided[0].last:
        return rank._replace(passed=boundary)
    if rank.decided[0].outcome is Outcome.STOP:
        return rank._replace(stopped_at=boundary, at_stop=rank.decided[0].at_stop)
    return rank._replace(decided=rank.decided[1:], saved=(*rank.saved, boundary))


def talk(
    number: int, rank: Rank, now: Round, decide_on: Callable[[Said], Act]
) -> Iterator[tuple[Rank, Round]]:
    """Yield what the rank's other threads can do: the rank and the round afterwards."""
    if rank.notice == "to come" and number != LATE:
        yield rank._replace(notice="in force"), now
    if rank.notice == "in force" and number == STOPPED:
        yield rank._replace(notice="over"), now
    if (rank.notice == "in force" or rank.is_to_end) and not now.has_news:
        yield rank, now._replace(has_news=True)
    if now.has_news and not rank.is_closed:
        said = tuple(sorted((*now.said, (number, rank.passed, rank.notice == "in force"))))
        decision = now.decision
        if len(said) == SIZE and decision is None:
            decision = decide_on(said)
        yield rank._replace(is_closed=True), now._replace(said=said, decision=decision)
    if rank.is_closed and now.decision is not None:
        yield take(number, rank, now), now
    elif rank.is_closed and all(speaker != LATE for speaker, _, _ in now.said):
        yield rank, now._replace(decision=Act(Outcome.ABORT))


def decided(said: Said, rule: Rule, world: World, rank: Rank) -> Act:
    """Apply the rule to what all have said in this rank's round."""
    decision = rule(
        [
            Published(
                rank=number,
                position=Position(passed),
                notice_id=str(number) if has_notice else None,
                is_stop=number == STOPPED,
                left_s=world.left_s[rank.round],
                figures=world.figures(passed),
            )
            for number, passed, has_notice in said
        ]
    )
    last = 0 if decision.last is None else decision.last.last_step
    return Act(decision.outcome, last, decision.at_stop)


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
        is_to_end=rank.is_to_end if act.outcome is Outcome.ABORT else act.outcome is Outcome.END,
    )


def fault(rule: Rule, world: World, ends: set[object] | None = None) -> str | None:
    """Walk all states; return what is wrong in the first bad one, and note how ranks can end."""
    seen, unseen = {State()}, [State()]
    while unseen:
        state = unseen.pop()
        following_states = set(following(state, rule, world)) - {state}
        unseen.extend(following_states - seen)
        seen |= following_states
        stops = {rank.stopped_at for rank in state.ranks} - {0}
        if len(stops) > 1 or any(rank.passed >= stop for stop in stops for rank in state.ranks):
            return f"ranks act at different steps: {state}"
        if following_states:
            continue
        end, *others = {(rank.saved, rank.stopped_at, rank.at_stop) for rank in state.ranks}
        if others:
            return f"ranks end differently: {state}"
        if ends is not None:
            ends.add(end[1:])
        if any(not rank.stopped_at and rank.passed < UNTIL for rank in state.ranks):
            return f"a rank hangs: {state}"
    return None


@pytest.mark.parametrize("world", WORLDS)
def test_ranks_end_alike_when_anything_comes_between_anything(world: str) -> None:
    """All stop at one step or none does, all save there or none does, and none hangs."""
    ends: set[object] = set()
    assert fault(decide, WORLDS[world], ends) is None
    assert ends == ENDS[world]


@pytest.mark.parametrize("choose", [min, lambda positions: Position(max(positions).step - 1)])
def test_model_finds_a_fault_when_the_rule_is_broken(
    choose: Callable[[list[Position]], Position],
) -> None:
    """Acting beyond the slowest rank, or at the fastest one's own boundary, parts them."""

    def broken(records: Sequence[Published]) -> Decision:
        last = choose([record.position for record in records])
        decision = decide(records)
        return replace(decision, last=last) if decision.last is not None else decision

    assert "different" in (fault(broken, WORLDS["each step has another plan"]) or "")
