"""The worked example that most texts on the subject go by, beside its exact values.

64 nodes of 8 GPUs that each last 40 hours, so M = 2250 s; 100,000 productive GPU-hours, 4.00 an
hour on demand and 1.60 on spot. It takes Young's interval rounded to 10 s, adds up the first-order
terms, and multiplies the productive hours by 1 + their sum.
"""

from dataclasses import dataclass

from trainer_hooks.waste.interval import (
    Costs,
    FirstOrder,
    Split,
    exact_s,
    first_order,
    slowdown,
    split,
    young_s,
)

MTBI_S = 2250.0
PRODUCTIVE_GPU_HOURS = 100_000.0
ON_DEMAND_PRICE = 4.00
SPOT_PRICE = 1.60

SCENARIOS = {
    "sync": Costs(stall_s=60, mtbi_s=MTBI_S, restart_s=300),
    "async": Costs(stall_s=8, mtbi_s=MTBI_S, restart_s=300),
    "async + warm standby": Costs(stall_s=8, mtbi_s=MTBI_S, restart_s=120),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One scenario, as it is told and as it is."""

    name: str
    costs: Costs
    told_interval_s: float
    told: FirstOrder
    told_paid_gpu_hours: float
    exact_interval_s: float
    exact_slowdown: float
    exact: Split
    exact_paid_gpu_hours: float

    @property
    def told_saving_fraction(self) -> float:
        """Against on-demand, by the first-order sum."""
        return _saving_fraction(self.told_paid_gpu_hours)

    @property
    def exact_saving_fraction(self) -> float:
        """Against on-demand."""
        return _saving_fraction(self.exact_paid_gpu_hours)


def rows() -> tuple[Row, ...]:
    """Work out the table."""
    return tuple(_row(name, costs) for name, costs in SCENARIOS.items())


def _row(name: str, costs: Costs) -> Row:
    told_s = round(young_s(costs), -1)
    told = first_order(costs, told_s)
    exact = exact_s(costs)
    slow = slowdown(costs, exact)
    return Row(
        name=name,
        costs=costs,
        told_interval_s=told_s,
        told=told,
        told_paid_gpu_hours=PRODUCTIVE_GPU_HOURS * (1 + round(told.total, 2)),
        exact_interval_s=exact,
        exact_slowdown=slow,
        exact=split(costs, exact),
        exact_paid_gpu_hours=PRODUCTIVE_GPU_HOURS * slow,
    )


def _saving_fraction(paid_gpu_hours: float) -> float:
    return 1 - paid_gpu_hours * SPOT_PRICE / (PRODUCTIVE_GPU_HOURS * ON_DEMAND_PRICE)
