"""When the ranks of a node are gone: does it end, leave the others to go on, or go on with them?

Asked only where ``--nnodes=MIN:MAX`` lets the number of nodes change. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from trainer_hooks.launch.exit_codes import EXIT_PEER_LOST, MAX_CRASHES, Failure, launch_exit_code
from trainer_hooks.results import Cause, RankResult, RankState

MAX_LOSSES = MAX_CRASHES
"""So many nodes lost without a word in a row, with no new checkpoint in between: what kills them
may be this job, as with crashes."""

LAST_CALL_S = 5
"""How long a rendezvous that has enough nodes waits for more; torchrun waits 30 s. Who comes later
is taken in all the same, at the price of a stop."""

KEEP_ALIVE_S = 2
KEEP_ALIVE_ATTEMPTS = 5
"""A node that went without a word is out of the rendezvous after 10 s, and not torchrun's 15. They
compare clocks of two nodes (dynamic_rendezvous.py, torch 2.13, 2026-11-30), which may not be so
far apart."""


class Fate(StrEnum):
    """What becomes of a node whose ranks are gone."""

    ENDS = "ends"
    """As torchrun has it: nobody goes on, or a crash is started again if there is budget for it."""
    LEAVES = "leaves"
    """This node goes away; the others may go on."""
    GOES_ON = "goes on"
    """Another node went away: meet again, with who is there, from the newest checkpoint."""


def fate_of(
    results: Sequence[RankResult | None],
    failures: Mapping[int, Failure],
    *,
    is_stop_in_force: Callable[[], bool],
) -> Fate:
    """Return what becomes of this node.

    Args:
        results: By local rank, what each rank has left; a stop's cause is in there.
        failures: By local rank, in the order of their deaths, what torchrun saw die.
        is_stop_in_force: Tells whether a stop notice is in force here; may block for seconds.
    """
    states = {None if result is None else result.state for result in results}
    if RankState.SAVED in states and states <= {RankState.SAVED, RankState.FINISHED}:
        causes = {result.cause for result in results if result is not None}
        if Cause.JOB in causes or not causes & {Cause.THIS_NODE, Cause.OTHER_NODE}:
            return Fate.ENDS
        if Cause.THIS_NODE in causes:
            return Fate.LEAVES
    else:
        code = launch_exit_code(results, failures, stopped_by=None, has_failed=True)
        if code != EXIT_PEER_LOST:
            return Fate.ENDS
    return Fate.LEAVES if is_stop_in_force() else Fate.GOES_ON


def with_elastic_times(rendezvous: str) -> str:
    """Return ``--rdzv-conf`` with the times that suit nodes which come and go; a user's own win."""
    ours = {
        "last_call_timeout": LAST_CALL_S,
        "keep_alive_interval": KEEP_ALIVE_S,
        "keep_alive_max_attempt": KEEP_ALIVE_ATTEMPTS,
    }
    parts = [f"{name}={value}" for name, value in ours.items()]
    return ",".join([*parts, *([rendezvous] if rendezvous.strip() else [])])


class Losses:
    """Counts nodes that went without a word while nothing was committed."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._committed_step = -1

    def are_too_many(self, results: Sequence[RankResult | None]) -> bool:
        """Take note of how a generation of ranks has ended; tell whether to give up."""
        known = [result for result in results if result is not None]
        if all(result.state is not RankState.LOST for result in known):
            return False
        committed = max(
            (r.committed_step for r in known if r.committed_step is not None), default=-1
        )
        self._in_a_row = 1 if committed > self._committed_step else self._in_a_row + 1
        self._committed_step = max(committed, self._committed_step)
        return self._in_a_row >= MAX_LOSSES
