"""How much slower a core is after a pause: that weighs on whatever does a little once a second.

On a common machine a computation that needs no memory takes as long after a pause as without one,
but for some microseconds. On some virtual ones, whose host takes back what has rested, it takes ten
times as long and more, and the kernel counts all of it as the program's own time.
"""

import time
from statistics import median

EVEN_LIMIT = 3.0
"""Up to so many times slower the figures are the program's, more than the machine's."""

_LOOPS = 2000
_PAUSE_S = 1.0
_TIMES = 7


def slower_after_a_pause() -> float:
    """Return how many times the core time of a small computation is after a second's rest."""
    for _ in range(10 * _TIMES):
        _computation_s()
    awake_s = median(_computation_s() for _ in range(_TIMES))
    rested_s = list[float]()
    for _ in range(_TIMES):
        time.sleep(_PAUSE_S)
        rested_s.append(_computation_s())
    return median(rested_s) / awake_s


def _computation_s() -> float:
    began, total = time.thread_time(), 0
    for number in range(_LOOPS):
        total += number * number
    return time.thread_time() - began
