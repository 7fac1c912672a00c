"""How a run chooses its own interval: what a user may say of it, and what is taken for granted."""

import math
import re
from dataclasses import dataclass

from trainer_hooks.errors import ConfigError

FIRST_STEPS = 10
"""Steps up to the first save, and from there to the second, while nobody knows what a save takes:
so early that the run soon knows, and that little is lost until then."""

ASSUMED_MTBI_S = 3600.0
"""M of a job that was never interrupted and whose pool nobody has described: an hour, the round
figure next to the median of the 13 public traces of Spot jobs (3,010 s; theory part 4, read
2026-11-30). With each hour without an interruption the estimate grows by one."""

_SHARE = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?) ?%")


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoInterval:
    """Lets a run choose how many steps lie between its saves, by what it measures.

    ``save_every="auto"`` is short for ``AutoInterval()``, and ``save_every="5%"`` for
    ``AutoInterval(overhead=0.05)``.

    Raises:
        ConfigError: A value makes no sense.
    """

    overhead: float | None = None
    """Stalls take at most this part of the training time, and the interval is no longer than that
    asks for; None: the interval of least waste."""
    bytes_per_s: float | None = None
    """What all ranks together may write in the long run; None: no limit."""
    prior_mtbi_s: float = ASSUMED_MTBI_S
    """Running time between interruptions of the job, as its pool is known for, until it has had
    one. ``reprieve-trainer plan --trace`` says it of a pool's record."""
    first_steps: int = FIRST_STEPS
    """Steps up to the first save of a new run, and to the second."""

    def __post_init__(self) -> None:
        for name in ("overhead", "bytes_per_s", "prior_mtbi_s"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name} of save_every has to be a positive number, not {value}")
        if self.overhead is not None and self.overhead >= 1:
            raise ConfigError(
                f"overhead of save_every is a part of 1, such as 0.05, not {self.overhead}"
            )
        if self.first_steps < 1:
            raise ConfigError(f"first_steps of save_every is at least 1, not {self.first_steps}")


def parse_save_every(save_every: int | str | AutoInterval) -> int | AutoInterval:
    """Return a number of steps, or the rules by which the run chooses it.

    Raises:
        ConfigError: It is neither, nor short for one.
    """
    if isinstance(save_every, AutoInterval):
        return save_every
    if isinstance(save_every, int):
        if save_every < 1:
            raise ConfigError(f"save_every counts steps, at least 1, not {save_every}")
        return save_every
    if save_every == "auto":
        return AutoInterval()
    if (share := _SHARE.fullmatch(str(save_every))) is not None:
        return AutoInterval(overhead=float(share[1]) / 100)
    raise ConfigError(
        f"save_every is a number of steps, 'auto', a share of the time such as '5%', or an "
        f"AutoInterval, not {save_every!r}"
    )
