"""What can be played at random in minutes, and what would take for ever."""

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import HOPELESS, Costs, slowdown

MOST_RUNS = 1_000_000
"""More say nothing new, and fill the memory."""

MOST_INTERRUPTIONS = 2e9
"""Of all runs together: some minutes of one core."""

MOST_EACH = 1e6
"""Of one run with a fleet of nodes, which is played interruption by interruption: as long."""


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
    is_long = each * runs > MOST_INTERRUPTIONS or (has_fleet and each > MOST_EACH)
    if is_long or runs > MOST_RUNS:
        raise ConfigError(
            f"{runs} runs of {each:.3g} interruptions each would take too long to play: "
            "plan with less work or fewer --runs"
        )
