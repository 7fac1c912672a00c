"""torchrun's agent, taught what a preemption is.

Three things that torchrun does are right for a crash and wrong for a node that goes away: it
restarts ranks that have saved and left, on the very node; it lets a second SIGTERM break off the
wait that the first one began; and it knows nothing of the files in which ranks leave word.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.launcher import api

from trainer_hooks.results import forget_results, some_rank_saved


class RanksPreemptedError(Exception):
    """Raised out of the agent instead of a restart."""


@contextmanager
def preemption_aware(results: Path, is_stop_in_force: Callable[[], bool]) -> Iterator[None]:
    """Let torchrun use our agent while the block runs.

    ``elastic_launch`` makes its agent itself and takes no class to make; this is the one place
    that replaces it (trainer-facts 8.5, torch 2.13, 2026-11-30).
    """

    class Agent(LocalElasticAgent):
        """The agent of this launch."""

        def _start_workers(self, worker_group: Any) -> Any:  # noqa: ANN401 - as torchrun has it
            forget_results(results)  # of the ranks that these replace
            return super()._start_workers(worker_group)

        def _restart_workers(self, worker_group: Any) -> None:  # noqa: ANN401 - as torchrun has it
            if some_rank_saved(results) or is_stop_in_force():
                raise RanksPreemptedError("ranks were preempted: not restarted on this node")
            super()._restart_workers(worker_group)

        def _shutdown(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as torchrun has it
            # The ranks have been told, and their time is counted; being told again adds nothing.
            for number in (signal.SIGTERM, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)
            super()._shutdown(*arguments, **options)

    original = api.LocalElasticAgent
    api.LocalElasticAgent = Agent  # type: ignore[misc]  # see above
    try:
        yield
    finally:
        api.LocalElasticAgent = original  # type: ignore[misc]  # see above
