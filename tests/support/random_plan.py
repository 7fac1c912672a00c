"""What happens to a job in a random interruption run: drawn from a seed, and from nothing else."""

import random
from dataclasses import dataclass, replace
from enum import StrEnum

ENDLESS = 10**9
"""Steps of a run that only a stop ends: a notice that is not answered is a hang."""

SPAN_S = 1.2
"""All that comes to a job comes within this time from its start, some of it before it has met."""


class What(StrEnum):
    """What can come to a job."""

    STOP = "stop"
    ADVICE = "advice"
    WITHDRAWAL = "withdrawal"
    """Of whatever the nodes' flags say."""
    SIGTERM = "SIGTERM"
    HANG = "hang"
    """The training of a rank stands still, within a step, for longer than anybody waits."""
    KILL = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that comes to some nodes or ranks at once."""

    at_s: float
    """Seconds from the start of the job's processes."""
    what: What
    targets: tuple[int, ...]
    """Nodes for a flag, ranks for what happens to a process."""
    left_s: float = 60.0
    """From a notice to its deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """One thread of a rank is late once."""

    rank: int
    operation: int
    """Before which of the rank's operations on the Store, counted over all its threads."""
    for_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A job, and all that comes to it."""

    seed: int
    size: int
    ranks_a_node: int
    until: int
    step_s: tuple[float, ...]
    """By rank; where they differ and no collective couples the ranks, these drift apart."""
    is_coupled: bool
    """Whether each step has a collective."""
    ticks: int
    """Boundaries within a step."""
    save_every: int
    save_s: float
    always_stop: bool
    joins_s: tuple[float, ...]
    """By rank, how late it comes."""
    delays: tuple[Delay, ...]
    events: tuple[Event, ...]

    @property
    def nodes(self) -> int:
        """How many nodes the ranks are on."""
        return -(-self.size // self.ranks_a_node)

    def has(self, *kinds: What) -> bool:
        """Tell whether anything of these kinds comes."""
        return any(event.what in kinds for event in self.events)

    def without(self, index: int) -> "Plan":
        """Return it without one event: the delays come first, then the rest."""
        late = len(self.delays)
        if index < late:
            return replace(self, delays=self.delays[:index] + self.delays[index + 1 :])
        index -= late
        return replace(self, events=self.events[:index] + self.events[index + 1 :])

    def __str__(self) -> str:
        head = (
            f"seed={self.seed} size={self.size} nodes={self.nodes} until={self.until} "
            f"coupled={self.is_coupled} ticks={self.ticks} save_every={self.save_every} "
            f"save_s={self.save_s:.2f} always_stop={self.always_stop}"
        )
        return "\n  ".join([head, *map(str, self.delays), *map(str, self.events)])


def draw(seed: int) -> Plan:
    """Return the plan of a seed."""
    choose = random.Random(seed)  # noqa: S311 - a test's choice
    size = choose.randint(2, 16)
    ranks_a_node = choose.choice([1, 1, 2, 4])
    is_coupled = choose.random() < 0.5
    pace_s = size * choose.uniform(0.0005, 0.0015)  # so that a large world is no heavier load
    plan = Plan(
        seed=seed,
        size=size,
        ranks_a_node=ranks_a_node,
        until=choose.randint(5, 80),
        step_s=tuple(pace_s * choose.uniform(1, 1 if is_coupled else 3) for _ in range(size)),
        is_coupled=is_coupled,
        ticks=choose.choice([0, 0, 1, 3]),
        save_every=choose.choice([5, 20, 1000]),
        save_s=choose.choice([0.0, 0.05, 0.3]),
        always_stop=choose.random() < 0.7,
        joins_s=tuple(choose.choice([0.0, choose.uniform(0, 0.3)]) for _ in range(size)),
        delays=_draw_delays(choose, size),
        events=(),
    )
    events = _draw_events(choose, plan)
    match choose.choice(["finite", "endless", "endless", "hang", "kill"]):
        case "endless":
            plan = replace(plan, until=ENDLESS)
            events.append(_last_stop(choose, plan))
        case "hang":
            hang = Event(
                at_s=choose.uniform(0, SPAN_S), what=What.HANG, targets=_some(choose, size)
            )
            events += [hang, replace(_last_stop(choose, plan), left_s=choose.uniform(5, 7))]
        case "kill":
            targets = _some(choose, size)[:2]
            events.append(Event(at_s=choose.uniform(0, SPAN_S), what=What.KILL, targets=targets))
    return replace(plan, events=tuple(sorted(events, key=lambda event: event.at_s)))


def _draw_delays(choose: random.Random, size: int) -> tuple[Delay, ...]:
    return tuple(
        Delay(
            rank=choose.randrange(size),
            operation=choose.randint(0, 30),
            for_s=choose.choice([0.02, 0.2, 1.0]),
        )
        for _ in range(choose.choice([0, 0, 1, 3]))
    )


def _draw_events(choose: random.Random, plan: Plan) -> list[Event]:
    """Draw notices, advice and withdrawals; the first two come twice as often."""
    kinds = [What.STOP, What.STOP, What.ADVICE, What.ADVICE, What.WITHDRAWAL, What.SIGTERM]
    drawn = []
    for _ in range(choose.randint(0, 5)):
        what = choose.choice(kinds)
        count = plan.size if what is What.SIGTERM else plan.nodes
        drawn.append(
            Event(
                at_s=choose.uniform(0, SPAN_S),
                what=what,
                targets=_some(choose, count),
                left_s=choose.choice([30.0, 60.0, 120.0]),
            )
        )
    return drawn


def _last_stop(choose: random.Random, plan: Plan) -> Event:
    """Return a notice that nobody withdraws."""
    targets = _some(choose, plan.nodes)
    return Event(at_s=SPAN_S + choose.uniform(0, 0.2), what=What.STOP, targets=targets)


def _some(choose: random.Random, count: int) -> tuple[int, ...]:
    """Return one of them, a few, or all."""
    return tuple(
        sorted(choose.sample(range(count), choose.choice([1, 1, choose.randint(1, count)])))
    )
