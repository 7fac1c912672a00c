"""What can be played at random in minutes, and what would take for ever."""

import math

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import HOPELESS, Costs, slowdown

MOST_RUNS = 1_000_000
"""More say nothing new, and fill the memory."""

MOST_INTERRUPTIONS = 2e9
"""Of all runs together: some minutes of one core."""

ROUND = 600
"""With a fleet of nodes runs are played side by side, interruption by interruption, as each goes on
with the nodes that the one before has left. Such a round costs as much as so many interruptions
(63 us and 0.11 us, measured), so that few long runs take as long as many."""

MOST_WITH_FLEET = 5e8
"""Interruptions with a fleet, rounds counted as above: about a minute of one core."""


def check_playable(
    costs: Costs, interval_s: float, productive_s: float, runs: int, *, has_fleet: bool
) -> None:
    """Refuse what would take for ever.

    Raises:
        ConfigError: It would.
    """
    if runs < 1:
        raise ConfigError(f"at least 1 run has to be played, not {runs}")
    slow = slowdown(costs, interval_s)
    if not slow <= HOPELESS:
        raise ConfigError(
            f"the job pays {slow:.3g} hours for one of progress: no run is played to its end; "
            "save more often, restart faster or use fewer nodes"
        )
    each = max(1.0, productive_s * slow / costs.mtbi_s)
    most, aside = (MOST_WITH_FLEET, ROUND) if has_fleet else (MOST_INTERRUPTIONS, 0)
    too_much = each * (runs + aside) / most
    if runs > MOST_RUNS:
        raise ConfigError(f"{runs} runs say no more than {MOST_RUNS}, and fill the memory")
    if too_much > 1:
        raise ConfigError(
            f"{runs:,} x {each:.3g} interruptions would take too long to play: plan with "
            f"{_advice(each, runs, most, aside)}"
        )


def _advice(each: float, runs: int, most: float, aside: int) -> str:
    """Return what could be played instead."""
    part = math.ceil(each * (runs + aside) / most)
    less = f"1/{part} of --productive-gpu-hours, whose shares of time are about the same"
    fewer = int(most / each) - aside
    return f"{less}, or with --runs {fewer}" if fewer >= 1 else less
