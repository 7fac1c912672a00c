"""Every interleaving: three ranks, two notices, a withdrawal, a late thread, a crash.

In some worlds a stop is planned by figures that differ between ranks and steps, in some the run may
go on to its end until a shorter deadline calls that off, in some a rank is gone at any moment, and
in some another node is to go sooner after the stop. How many states there were is printed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.support.agreement_model import UNTIL, Walk, World, walk
from tests.support.published import figures
from trainer_hooks.at_stop import AtStop
from trainer_hooks.decision import Decision, Position, Published
from trainer_hooks.rule import decide

Ends = frozenset[tuple[int, str | None]]

PLANS = World(
    is_coarse=True,
    figures=lambda passed: figures(
        saves_s=((1.0,), (20.0,) * 8, (60.0,) * 8)[passed],
        in_flight_s=0.0 if passed == 1 else None,
    ),
)
"""Each step has another plan."""
TO_THE_END = World(
    is_coarse=True,
    left_s=(1000.0, 30.0),
    figures=lambda _: figures(until=UNTIL, saves_s=(20.0,) * 8),
)
"""The end comes first, until the deadline is nearer."""
ANY = (0, 1, 2)

PLANNED: Ends = frozenset({(0, None), (1, AtStop.EMERGENCY), (2, AtStop.FINISH)})
CALLED_OFF: Ends = frozenset({(0, None), (1, AtStop.NONE), (2, AtStop.NONE)})
"""Where ranks can stop, and what is done there; 0 is nowhere."""

WORLDS: dict[str, tuple[World, Ends]] = {
    "each step has another plan": (PLANS, PLANNED),
    "the end comes first, until the deadline is nearer": (TO_THE_END, CALLED_OFF),
    "a rank crashes in the only round": (
        PLANS._replace(left_s=(30.0,), who_may_crash=ANY, is_coarse=False),
        PLANNED,
    ),
}
SLOW_WORLDS: dict[str, tuple[World, Ends]] = {
    "each step has another plan, at every moment": (PLANS._replace(is_coarse=False), PLANNED),
    "the end comes first, at every moment": (TO_THE_END._replace(is_coarse=False), CALLED_OFF),
    "any rank crashes": (PLANS._replace(who_may_crash=ANY), PLANNED),
    "any rank crashes on the way to the end": (TO_THE_END._replace(who_may_crash=ANY), CALLED_OFF),
    "another node goes sooner after the stop": (
        PLANS._replace(left_s=(30.0,) * 3, is_nearer=True),
        PLANNED,
    ),
    "another node goes sooner, told at every moment": (
        PLANS._replace(is_nearer=True, is_coarse=False),
        PLANNED,
    ),
}


def walked(name: str, rule: Callable[[Sequence[Published]], Decision], world: World) -> Walk:
    """Walk a world, and print how many states it has."""
    found = walk(rule, world)
    print(f"{name}: {found.states} states")  # noqa: T201 - how much was looked at
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_ranks_end_alike_when_anything_comes_between_anything(name: str) -> None:
    """All stop at one step or none does, all save there or none does, and none hangs."""
    world, ends = WORLDS[name]
    found = walked(name, decide, world)
    assert found.fault is None
    assert found.ends == ends


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", SLOW_WORLDS)
def test_ranks_end_alike_when_anything_comes_between_anything_at_length(name: str) -> None:
    """The same with a crash of any rank, deadlines after the stop, and all moments of a round."""
    world, ends = SLOW_WORLDS[name]
    found = walked(name, decide, world)
    assert found.fault is None
    assert found.ends == ends


@pytest.mark.parametrize("choose", [min, lambda positions: Position(max(positions).step - 1)])
def test_model_finds_a_fault_when_the_rule_is_broken(
    choose: Callable[[list[Position]], Position],
) -> None:
    """Acting beyond the slowest rank, or at the fastest one's own boundary, parts them."""

    def broken(records: Sequence[Published]) -> Decision:
        last = choose([record.position for record in records])
        decision = decide(records)
        return replace(decision, last=last) if decision.last is not None else decision

    assert "different" in (walked("broken", broken, PLANS).fault or "")
