"""What of an instance never changes while a scenario is played."""

from dataclasses import dataclass

DEFAULT_INSTANCE_ID = "i-0123456789abcdef0"


@dataclass(frozen=True, slots=True)
class Identity:
    """Its id, its market in EC2's words, and what stands in for a termination time."""

    instance_id: str = DEFAULT_INSTANCE_ID
    life_cycle: str = "spot"
    no_termination_time: str | None = None
