"""What a plan is made from, and where each figure comes from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.choice import Limits
from trainer_hooks.waste.emergency import Save
from trainer_hooks.waste.estimate import Dispersion
from trainer_hooks.waste.interval import Costs


class Origin(StrEnum):
    """Where a figure comes from. Nobody should take an assumption for a measurement."""

    GIVEN = "given"
    ASSUMED = "assumed"
    MEASURED = "measured"
    TRACE = "of the trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What things cost, in any currency.

    Raises:
        ConfigError: One is no price, or a share is none.
    """

    on_demand: float
    """Of a GPU-hour that nobody takes back."""
    spot: float
    """Of a GPU-hour that may be taken back."""
    on_demand_share: float = 0.0
    """The part of the paid hours that is on demand: a base, or a fallback."""
    storage_gb_month: float = 0.0
    """Of a gigabyte kept for 30 days."""
    kept: int = 3
    """Checkpoints that are kept."""
    egress_gb: float = 0.0
    """Of a gigabyte that is written to where checkpoints are kept: another region, say."""

    def __post_init__(self) -> None:
        for name in ("on_demand", "spot", "storage_gb_month", "kept", "egress_gb"):
            value = getattr(self, name)
            if not 0 <= value < math.inf or (value == 0 and name in {"on_demand", "spot"}):
                raise ConfigError(f"{name} is no price or number: {value}")
        if not 0 <= self.on_demand_share <= 1:
            raise ConfigError(f"the share on demand is from 0 to 1, not {self.on_demand_share}")

    @property
    def mixed(self) -> float:
        """What a paid GPU-hour costs."""
        return self.on_demand_share * self.on_demand + (1 - self.on_demand_share) * self.spot


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """Saves to a place that is quick, and lost with its node."""

    stall_s: float
    soft_mtbi_s: float
    """Between failures that leave the node, and so its local saves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All that a plan is made from.

    Raises:
        ConfigError: There is no work, or nobody to do it.
    """

    costs: Costs
    limits: Limits = field(default_factory=Limits)
    nodes: int = 1
    gpus_per_node: int = 8
    productive_gpu_hours: float = 100_000.0
    prices: Prices | None = None
    step_s: float | None = None
    """Of one training step; with it the interval is in whole steps."""
    save: Save | None = None
    """What a save at the notice goes through; None: C + D."""
    local: Local | None = None
    waste_limit: float = 1 / 3
    """The part of the paid time beyond which the design should change, and not the interval."""
    mtbi_range_s: tuple[float, float] | None = None
    """M is between these with a chance of 90 %, if it was measured."""
    dispersion: Dispersion | None = None
    """Whether the interruptions came at random, if M was measured and that can be said."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """By the letter, C, D, R or M, or by the name of the flag."""

    def __post_init__(self) -> None:
        for name in ("nodes", "gpus_per_node", "productive_gpu_hours", "waste_limit"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigError(f"{name} has to be a positive number, not {value}")
        if self.step_s is not None and not 0 < self.step_s < math.inf:
            raise ConfigError(f"step_s has to be a positive number, not {self.step_s}")
        if self.waste_limit >= 1:
            raise ConfigError(f"a limit of waste is below 1, not {self.waste_limit}")

    @property
    def gpus(self) -> int:
        """All together."""
        return self.nodes * self.gpus_per_node

    @property
    def productive_s(self) -> float:
        """How long the run would take if nothing came between."""
        return self.productive_gpu_hours * 3600 / self.gpus
