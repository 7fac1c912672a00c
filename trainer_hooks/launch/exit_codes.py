"""Exit codes, and the rule that makes one of what the ranks have left.

75 is EX_TEMPFAIL of sysexits.h, "try again later": 0 would hide a preemption from the scheduler,
143 is what any unhandled SIGTERM yields, and torchrun turns everything into 1.
"""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer_hooks.results import RankResult, RankState
from trainer_hooks.signals import BY_HAND_SIGNALS, ENDING_SIGNALS

EXIT_DONE = os.EX_OK
EXIT_CRASHED = 1
EXIT_PREEMPTED = os.EX_TEMPFAIL
EXIT_PEER_LOST = 76
"""A rank of another node went without a word: start again, it says nothing against this job."""
EXIT_CONFIG = os.EX_CONFIG
EXIT_CRASH_LOOP = 79
"""Crash after crash, and nothing committed in between: no other start would do better."""

MAX_CRASHES = 6
"""So many make a crash loop. Three from the newest checkpoint put it in quarantine
(``checkpoint.tries``), and three more from the one before say that it was not its fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A local rank that torchrun saw die."""

    pid: int
    exit_status: int
    """As ``subprocess`` has it: negative for death by a signal."""


def launch_exit_code(
    results: Sequence[RankResult | None],
    failures: Mapping[int, Failure],
    *,
    stopped_by: int | None,
    has_failed: bool,
    is_rendezvous_lost: bool = False,
) -> int:
    """Return the exit code of a launch.

    Args:
        results: By local rank, what each rank has left.
        failures: By local rank, in the order of their deaths, what torchrun saw die first.
        stopped_by: The signal that the launcher itself got, if it did.
        has_failed: False if torchrun saw every rank exit with 0.
        is_rendezvous_lost: Whether torchrun gave up because the node that hosts it has gone.
    """
    own = [_own_result(rank, result, failures) for rank, result in enumerate(results)]
    states = {result.state if result is not None else None for result in own}
    if states == {RankState.FINISHED}:
        # Finished, and then its script failed by itself; a signal at the very end takes nothing.
        own_codes = [f.exit_status for f in failures.values() if f.exit_status > 0]
        return own_codes[0] if own_codes else EXIT_DONE
    if states <= {RankState.FINISHED, RankState.SAVED}:
        return EXIT_PREEMPTED
    if not has_failed:
        return EXIT_DONE
    crashes = [
        failure.exit_status
        for rank, failure in failures.items()
        if (result := own[rank]) is None or result.state is RankState.RUNNING
    ]
    # At Ctrl-C ranks end one after the other, and those that are left miss a peer.
    has_lost_peer = RankState.LOST in states and stopped_by not in BY_HAND_SIGNALS
    if crashes or has_lost_peer:
        return _crash_code(crashes, has_lost_peer=has_lost_peer)
    if stopped_by is None:
        return EXIT_PEER_LOST if is_rendezvous_lost else EXIT_CRASHED
    # Told to stop before any rank had begun: nothing was there to save. Ctrl-C is no preemption.
    is_preemption = states == {None} and stopped_by in ENDING_SIGNALS
    return EXIT_PREEMPTED if is_preemption else _code_of(-stopped_by)


def _crash_code(crashes: Sequence[int], *, has_lost_peer: bool) -> int:
    """Return what to make of ranks that have died of themselves, if any has."""
    # The agent sends SIGTERM to the others: that is how they died, not why.
    own = [status for status in crashes if status != -signal.SIGTERM]
    if has_lost_peer and not own:
        return EXIT_PEER_LOST
    return _code_of((own or crashes)[0])


def _own_result(
    rank: int, result: RankResult | None, failures: Mapping[int, Failure]
) -> RankResult | None:
    """Drop a result that an earlier process of this rank has left before an in-agent restart."""
    failure = failures.get(rank)
    if result is not None and failure is not None and failure.pid != result.pid:
        return None
    return result


def _code_of(exit_status: int) -> int:
    if exit_status < 0:
        return 128 - exit_status
    return exit_status if exit_status != 0 else EXIT_CRASHED
