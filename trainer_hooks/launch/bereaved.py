"""A launcher whose rendezvous is on the machine that has vanished.

torchrun's agent asks the rendezvous about other nodes every few seconds, and at its end once more;
where nobody answers, nor refuses to, it waits in the kernel for a quarter of an hour, and no Python
handler runs. Its ranks have left by then, and have said why.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from trainer_hooks.launch.exit_codes import EXIT_PEER_LOST
from trainer_hooks.launch.report import LaunchReport
from trainer_hooks.results import RankResult, RankState, read_result

PATIENCE_S = 15.0
"""How long the agent has to end by itself when all its ranks have, in seconds. It looks at them
ten times a second, and stops what is left of them at once."""

REJOIN_S = 660.0
"""The same where the job goes on with fewer nodes: its agents meet anew, which they give up by
themselves after 600 s (torch 2.13, RendezvousTimeout.join, read 2026-11-30)."""

LOOK_EVERY_S = 1.0


class Bereaved:
    """Leaves for an agent that hangs after its ranks have lost a peer, from a thread of its own.

    Args:
        results: Where the ranks leave word.
        ranks: How many there are here.
        leave: Ends the process with a report.
        patience_s: ``PATIENCE_S`` or ``REJOIN_S``.
    """

    def __init__(
        self,
        results: Path,
        ranks: int,
        leave: Callable[[LaunchReport], object],
        patience_s: float,
    ) -> None:
        self._results = results
        self._ranks = ranks
        self._leave = leave
        self._patience_s = patience_s
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reprieve-bereaved", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def close(self) -> None:
        """Watch no longer: the agent has ended."""
        self._closing.set()

    def _watch(self) -> None:
        since_s = 0.0
        while not self._closing.wait(min(LOOK_EVERY_S, self._patience_s)):
            results = [read_result(self._results, rank) for rank in range(self._ranks)]
            since_s = since_s + LOOK_EVERY_S if _have_all_left(results) else 0.0
            if since_s > self._patience_s:
                why = "another node's ranks have gone, and nobody answers for the rendezvous"
                self._leave(LaunchReport(exit_code=EXIT_PEER_LOST, reason=why, results=results))
                return


def _have_all_left(results: list[RankResult | None]) -> bool:
    """Tell whether no rank lives any more, and at least one has lost a peer."""
    known = [result for result in results if result is not None]
    has_lost = any(result.state is RankState.LOST for result in known)
    return has_lost and len(known) == len(results) and not any(_lives(r.pid) for r in known)


def _lives(pid: int) -> bool:
    """Tell whether a process runs; one that its parent has not waited for does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] != ["Z"]
