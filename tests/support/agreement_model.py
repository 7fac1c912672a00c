"""The agreement as a model: every state that ranks, threads, Store, clouds and crashes can come to.

It is the protocol as agreement.py has it, one action for each moment at which another rank, or
another thread of the same one, can come between; the rule it applies is the real one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from trainer_hooks.at_stop import Figures
from trainer_hooks.decision import Decision, Outcome, Position, Published

SIZE, UNTIL = 3, 2
STOPPED, ADVISED, LATE = 0, 1, 2
"""Whose node gets a stop notice, which may be withdrawn, whose gets advice, who may be late."""

UNKNOWN, NEAR = 10**6, 5
"""Seconds to a deadline: one that nobody knows, and the one that comes after the stop."""

Rule = Callable[[Sequence[Published]], Decision]
Said = tuple[int, int, bool]
"""By a rank: its number, the boundary it has passed, whether it has a notice."""
T = TypeVar("T")


class World(NamedTuple):
    """What ranks measure in it, how long they have, and what else can come."""

    left_s: tuple[float, ...] = (30.0, 30.0)
    """To the stop notice's deadline, by round; there are as many rounds."""
    figures: Callable[[int], Figures | None] = lambda _: None
    """By the boundary that a rank has passed."""
    who_may_crash: tuple[int, ...] = ()
    """One of these may be gone at any moment."""
    is_coarse: bool = False
    """Whether a rank says, counts and decides at one blow, and tells news at another: fewer states,
    and what comes in between is left to finer worlds."""
    is_nearer: bool = False
    """Whether the node that had advice is to go as well, and sooner, once a stop is decided."""


class Act(NamedTuple):
    """A decision, in few words."""

    outcome: str
    last: int = 0
    at_stop: str | None = None
    left_s: float = UNKNOWN


class Rank(NamedTuple):
    """One rank: its training thread, the thread that answers rounds, and the one that listens."""

    passed: int = 0
    round: int = 0
    phase: str = "open"
    """Its gate; while that is closed: "said", "deciding" if it was the last to count, "waiting"."""
    decided: tuple[Act, ...] = ()
    saved: tuple[int, ...] = ()
    stopped_at: int = 0
    at_stop: str | None = None
    is_to_end: bool = False
    """It goes on to its end, as was decided last."""
    is_final: bool = False
    """A stop was decided."""
    deadline_s: float = UNKNOWN
    notice: str = "to come"
    """Then "in force", and "over" once it is handled or withdrawn; "nearer" after the stop."""
    telling: float | None = None
    """What its listener is about to tell, in whatever round the rank is by then."""
    is_gone: bool = False


class Round(NamedTuple):
    """What the Store holds of a round."""

    news: float | None = None
    """Seconds to the deadline of who has opened it."""
    said: tuple[Said, ...] = ()
    counted: tuple[int, ...] = ()
    decision: Act | None = None


class State(NamedTuple):
    """All ranks, and the Store."""

    ranks: tuple[Rank, ...]
    rounds: tuple[Round, ...]


def first(world: World) -> State:
    """Return the state in which all ranks have joined."""
    return State((Rank(),) * SIZE, (Round(),) * len(world.left_s))


def following(state: State, rule: Rule, world: World) -> Iterator[State]:
    """Yield every state that one action of one rank, or of the cloud, leads to."""
    has_crashed = any(rank.is_gone for rank in state.ranks)
    for number, rank in enumerate(state.ranks):
        if rank.is_gone:
            continue
        if number in world.who_may_crash and not has_crashed and not rank.stopped_at:
            yield _with(state, number, rank._replace(is_gone=True))
        if rank.phase == "open" and not rank.stopped_at and rank.passed < UNTIL:
            yield _with(state, number, _train(rank))
        if rank.round == len(world.left_s):
            continue
        now = state.rounds[rank.round]
        for told in _listen(number, rank, now, world):
            if world.is_coarse and told.telling is not None:
                opened = now._replace(news=told.telling)
                yield _with(state, number, told._replace(telling=None), opened)
            else:
                yield _with(state, number, told)
        if rank.telling is not None:  # it tells in whatever round the rank is in by now
            opened = now if now.news is not None else now._replace(news=rank.telling)
            yield _with(state, number, rank._replace(telling=None), opened)
        yield from _answer(state, number, rule, world)


def _with(state: State, number: int, rank: Rank, now: Round | None = None) -> State:
    """Return a state with another rank, and another round of that rank."""
    ranks, rounds = _put(state.ranks, number, rank), state.rounds
    at = state.ranks[number].round
    if now is not None:
        rounds = _put(rounds, at, now)
    if at < len(rounds) and all(one.is_gone or one.round > at for one in ranks):
        rounds = _put(rounds, at, Round())  # nobody looks at it any more: fewer states
    return State(ranks, rounds)


def _put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _train(rank: Rank) -> Rank:
    """Come to the next boundary: pass it, save there, or stop there (``reached``)."""
    boundary = rank.passed + 1
    if not rank.decided or boundary <= rank.decided[0].last:
        return rank._replace(passed=boundary)
    if rank.decided[0].outcome is Outcome.STOP:
        return rank._replace(stopped_at=boundary, at_stop=rank.decided[0].at_stop)
    return rank._replace(decided=rank.decided[1:], saved=(*rank.saved, boundary))


def _listen(number: int, rank: Rank, now: Round, world: World) -> Iterator[Rank]:
    """Yield what the cloud, and the thread that hears of it, can do (``notify``)."""
    if rank.is_final:
        if world.is_nearer and number == ADVISED and rank.notice != "nearer":
            yield rank._replace(notice="nearer")
        is_news, left_s = rank.notice == "nearer" and rank.deadline_s > NEAR, float(NEAR)
    else:
        if rank.notice == "to come" and number != LATE:
            yield rank._replace(notice="in force")
        if rank.notice == "in force" and number == STOPPED:
            yield rank._replace(notice="over")
        is_news, left_s = rank.notice == "in force" or rank.is_to_end, UNKNOWN
    if is_news and rank.telling is None and now.news is None:
        yield rank._replace(telling=left_s)


def _answer(state: State, number: int, rule: Rule, world: World) -> Iterator[State]:
    """Yield what the thread that answers rounds can do."""
    rank = state.ranks[number]
    now = state.rounds[rank.round]
    if rank.is_final:
        if now.news is not None:
            nearer = min(rank.deadline_s, now.news)
            yield _with(state, number, rank._replace(deadline_s=nearer, round=rank.round + 1))
    elif rank.phase == "open" and now.news is not None:
        said = tuple(sorted((*now.said, (number, rank.passed, rank.notice == "in force"))))
        if not world.is_coarse:
            yield _with(state, number, rank._replace(phase="said"), now._replace(said=said))
            return
        decision = now.decision
        if len(said) == SIZE and decision is None:
            decision = decided(said, rule, world, rank.round)
        now = now._replace(said=said, decision=decision)
        yield _with(state, number, rank._replace(phase="waiting"), now)
    elif rank.phase == "said":
        counted = tuple(sorted((*now.counted, number)))
        phase = "deciding" if len(counted) == SIZE else "waiting"
        yield _with(state, number, rank._replace(phase=phase), now._replace(counted=counted))
    elif rank.phase == "deciding":
        decision = now.decision or decided(now.said, rule, world, rank.round)
        yield _with(state, number, rank._replace(phase="waiting"), now._replace(decision=decision))
    elif rank.phase == "waiting" and now.decision is not None:
        yield _with(state, number, _take(number, rank, now))
    elif rank.phase == "waiting" and _is_overdue(state, rank.round):
        yield _with(state, number, rank, now._replace(decision=Act(Outcome.ABORT)))


def _is_overdue(state: State, at: int) -> bool:
    """Tell whether a round may be waited for in vain: the others are never that late."""
    return any(
        one.is_gone or (number == LATE and (one.round < at or one.phase != "waiting"))
        for number, one in enumerate(state.ranks)
    )


def decided(said: Sequence[Said], rule: Rule, world: World, at: int) -> Act:
    """Apply the rule to what all have said in a round."""
    decision = rule(
        [
            Published(
                rank=number,
                position=Position(passed),
                notice_id=str(number) if has_notice else None,
                is_stop=number == STOPPED,
                left_s=world.left_s[at],
                figures=world.figures(passed),
            )
            for number, passed, has_notice in said
        ]
    )
    last = 0 if decision.last is None else decision.last.last_step
    left_s = UNKNOWN if decision.left_s is None else decision.left_s
    return Act(decision.outcome, last, decision.at_stop, left_s)


def _take(number: int, rank: Rank, now: Round) -> Rank:
    """Learn the decision, and open the gate."""
    act = now.decision
    assert act is not None
    rank = rank._replace(phase="open", round=rank.round + 1)
    if act.outcome is Outcome.ABORT:
        return rank
    is_stop = act.outcome is Outcome.STOP
    is_handled = any((who, has) == (number, True) for who, _, has in now.said)
    return rank._replace(
        decided=(*rank.decided, act) if is_stop or act.outcome is Outcome.SAVE else rank.decided,
        notice="over" if is_handled or is_stop else rank.notice,
        is_to_end=act.outcome is Outcome.END,
        is_final=is_stop,
        deadline_s=act.left_s if is_stop else UNKNOWN,
    )


class Walk(NamedTuple):
    """What was found on the way through all states."""

    fault: str | None
    states: int
    ends: frozenset[tuple[int, str | None]]
    """Where ranks can stop and what is done there; 0 is nowhere."""


def walk(rule: Rule, world: World) -> Walk:
    """Walk all states until one is bad."""
    seen, unseen = {first(world)}, [first(world)]
    ends: set[tuple[int, str | None]] = set()
    fault = None
    while unseen and fault is None:
        state = unseen.pop()
        nexts = set(following(state, rule, world)) - {state}
        unseen.extend(nexts - seen)
        seen |= nexts
        fault = _fault_on_the_way(state) or (None if nexts else _fault_at_the_end(state, world))
        if not nexts:
            ends |= {(one.stopped_at, one.at_stop) for one in state.ranks if not one.is_gone}
    return Walk(fault, len(seen), frozenset(ends))


def _fault_on_the_way(state: State) -> str | None:
    stops = {rank.stopped_at for rank in state.ranks} - {0}
    if len(stops) > 1 or any(rank.passed >= stop for stop in stops for rank in state.ranks):
        return f"ranks act at different steps: {state}"
    return None


def _fault_at_the_end(state: State, world: World) -> str | None:
    """Judge a state in which nobody can do anything any more, by the ranks that are left."""
    left = [rank for rank in state.ranks if not rank.is_gone]
    if len({(rank.saved, rank.stopped_at, rank.at_stop) for rank in left}) > 1:
        return f"ranks end differently: {state}"
    if any(rank.phase != "open" for rank in left):
        return f"a rank hangs in a round: {state}"
    if any(not rank.stopped_at and rank.passed < UNTIL for rank in left):
        return f"a rank hangs: {state}"
    has_room = all(rank.round < len(world.left_s) for rank in left)
    if has_room and len({rank.deadline_s for rank in left if rank.is_final}) > 1:
        return f"ranks know of different deadlines: {state}"
    return None
