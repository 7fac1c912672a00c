"""What comes to ranks that agree by a collective: drawn from a seed, the same every time."""

import random
from dataclasses import dataclass
from enum import StrEnum


class What(StrEnum):
    """What can come to a node, or a rank."""

    STOP = "stop"
    ADVICE = "advice"
    NEARER = "nearer"
    """The deadline of what is in force is sooner than was said, or known now."""
    WITHDRAWAL = "withdrawal"
    FLICKER = "flicker"
    """Withdrawn, and announced again at once under the same id."""
    CRASH = "crash"
    """The training of one rank raises."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that comes as soon as a rank has begun a step."""

    what: What
    node: int
    step: int
    left_s: float | None
    pause_s: float
    """Between two ranks of the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run of ranks."""

    seed: int
    size: int
    per_node: int
    until: int
    ticks: int
    """Boundaries within each step."""
    is_coupled: bool
    """Whether each step has a collective of the training's."""
    may_end: bool
    """Whether a stop may leave the run to its end."""
    delays: dict[tuple[int, int], float]
    """Seconds by which a rank is late in a step."""
    events: tuple[Event, ...]

    def ranks_of(self, node: int) -> range:
        """Return the ranks of a node."""
        return range(node * self.per_node, min((node + 1) * self.per_node, self.size))


def draw(seed: int) -> Plan:
    """Return the plan of a seed."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    size, until = chance.randint(2, 6), chance.randint(6, 30)
    per_node = chance.choice((1, 1, 2))
    late = chance.sample([(rank, step) for rank in range(size) for step in range(until)], size)
    kinds: list[What] = [what for what in What if what is not What.CRASH]
    if chance.random() < 0.2:
        kinds.append(What.CRASH)
    return Plan(
        seed=seed,
        size=size,
        per_node=per_node,
        until=until,
        ticks=chance.choice((0, 0, 1, 3)),
        is_coupled=chance.random() < 0.5,
        may_end=chance.random() < 0.6,
        delays={where: chance.uniform(0.001, 0.02) for where in late},
        events=tuple(
            Event(
                what=chance.choice(kinds),
                node=chance.randrange((size + per_node - 1) // per_node),
                step=step,
                left_s=chance.choice((None, 3.0, 30.0, 6000.0, 6000.0)),
                pause_s=chance.choice((0.0, 0.003)),
            )
            for step in sorted(chance.choices(range(until), k=chance.randint(1, 7)))
        ),
    )
