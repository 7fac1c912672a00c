"""torchrun's agent, taught what a preemption is.

What torchrun does is right for a crash and wrong for a node that goes away: it restarts ranks that
have saved and left, on the very node, or ends them all for good; it lets a second SIGTERM break
off the wait that the first one began; and it knows nothing of the files in which ranks leave word.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torch.distributed.elastic.agent.server import RunResult, WorkerState
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import api as processes
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure
from torch.distributed.launcher import api

from trainer_hooks.launch.elastic import Fate, Losses, fate_of
from trainer_hooks.launch.exit_codes import Failure
from trainer_hooks.launch.first_signal import FirstSignal
from trainer_hooks.launch.rendezvous import Membership
from trainer_hooks.results import (
    Cause,
    RankResult,
    forget_results,
    read_result,
    some_rank_saved,
)


class RanksPreemptedError(Exception):
    """Raised out of the agent instead of a restart; it ends the job on all nodes."""


class NodeLeavesError(SignalException):
    """Raised out of the agent of a node that goes away, where the others may go on.

    Only as a signal does it leave the rendezvous open for them (trainer-facts 8.5, 2026-11-30).
    """

    def __init__(self) -> None:
        super().__init__("this node leaves, and the others may go on", signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What an agent knows of its node and job that torchrun does not tell it."""

    results: Path
    """Where its ranks leave word."""
    is_stop_in_force: Callable[[], bool]
    """Tells whether ranks are not to be started here; may block for seconds."""
    is_elastic: bool
    """Whether the job goes on with fewer nodes."""
    membership: Membership
    has_begun: threading.Event = field(default_factory=threading.Event)
    """Set once ranks have been started."""


@contextmanager
def preemption_aware(node: Node) -> Iterator[None]:
    """Let torchrun use our agent, and our handler of signals, while the block runs.

    ``elastic_launch`` makes its agent itself and takes no class to make, nor a handler; this is
    the one place that replaces them (trainer-facts 8.5, torch 2.13, 2026-11-30).
    """
    original, handler = api.LocalElasticAgent, processes._terminate_process_handler  # noqa: SLF001 - see above
    first = FirstSignal()
    api.LocalElasticAgent = partial(Agent, node, first)  # type: ignore[misc, assignment]  # see above
    processes._terminate_process_handler = first  # type: ignore[assignment]  # noqa: SLF001 - see above
    try:
        yield
    finally:
        api.LocalElasticAgent = original  # type: ignore[misc]  # see above
        processes._terminate_process_handler = handler  # noqa: SLF001 - see above


class Agent(LocalElasticAgent):
    """The agent of one launch."""

    def __init__(
        self,
        node: Node,
        first_signal: FirstSignal,
        *arguments: Any,  # noqa: ANN401 - as torchrun has it
        **options: Any,  # noqa: ANN401 - as torchrun has it
    ) -> None:
        super().__init__(*arguments, **options)
        self._node = node
        self._first_signal = first_signal
        first_signal.kill_by(self._kill_ranks)
        self._losses = Losses()
        self._goes_on = self._is_restarting = self._has_met = False
        node.membership.belong_to(self._rdzv_handler)

    def run(self, *arguments: Any, **options: Any) -> RunResult:  # noqa: ANN401 - as above
        """Run to the end; a node that leaves an elastic job takes itself out."""
        try:
            result: RunResult = super().run(*arguments, **options)
        except SignalException:
            if self._node.is_elastic:
                self._node.membership.withdraw()
            raise
        return result

    def _rendezvous(self, worker_group: Any) -> None:  # noqa: ANN401 - as above
        if self._has_met:
            self._check_restart()
        else:
            self._node.membership.reopen()
        self._has_met = True
        super()._rendezvous(worker_group)

    def _start_workers(self, worker_group: Any) -> Any:  # noqa: ANN401 - as above
        self._first_signal.raise_again()
        forget_results(self._node.results)  # of the ranks that these replace
        started = super()._start_workers(worker_group)
        self._node.has_begun.set()
        return started

    def _monitor_workers(self, worker_group: Any) -> RunResult:  # noqa: ANN401 - as above
        self._first_signal.raise_again()
        result: RunResult = super()._monitor_workers(worker_group)
        if self._node.is_elastic and result.state in (WorkerState.SUCCEEDED, WorkerState.FAILED):
            fate = self._fate(result)
            if fate is Fate.LEAVES:
                raise NodeLeavesError
            self._goes_on = fate is Fate.GOES_ON
            if self._goes_on:
                self._remaining_restarts += 1  # a restart takes one, and this is nobody's fault
                return RunResult(state=WorkerState.FAILED, failures=result.failures)
        return result

    def _restart_workers(self, worker_group: Any) -> None:  # noqa: ANN401 - as above
        # HEALTHY: another node wants to join, and the ranks are told to stop for it.
        is_joined = self._node.is_elastic and worker_group.state is WorkerState.HEALTHY
        if not (self._goes_on or is_joined) and some_rank_saved(self._node.results):
            raise RanksPreemptedError("ranks were preempted: not restarted on this node")
        self._is_restarting = True
        try:
            super()._restart_workers(worker_group)
        finally:
            self._goes_on = self._is_restarting = False

    def _stop_workers(self, worker_group: Any) -> None:  # noqa: ANN401, ARG002 - as above
        # torchrun's would kill ranks that still save after 30 s (trainer-facts 8.6, 2026-11-30).
        self._shutdown(timeout=self._shutdown_timeout)

    def _shutdown(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as above
        if not self._is_restarting:
            # The ranks have been told, and their time is counted; being told again adds nothing.
            self._first_signal.take()
        super()._shutdown(*arguments, **options)

    def _kill_ranks(self) -> None:
        context: Any = self._pcontext
        for rank in context.subprocess_handlers.values() if context is not None else ():
            if rank.proc.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(rank.proc.pid, signal.SIGKILL)

    def _check_restart(self) -> None:
        """See that nothing forbids to start ranks again, now that those before them are gone."""
        if any(result is not None and result.cause is Cause.JOB for result in self._results()):
            raise RanksPreemptedError("the whole job is to stop")
        if not self._node.is_stop_in_force():
            return
        if self._node.is_elastic:
            raise NodeLeavesError
        raise RanksPreemptedError("a stop notice is in force: nothing is restarted on this node")

    def _fate(self, result: RunResult) -> Fate:
        results, failures = self._results(), failures_of(result.failures.values())
        fate = fate_of(results, failures, is_stop_in_force=self._node.is_stop_in_force)
        if fate is Fate.GOES_ON and self._losses.are_too_many(results):
            return Fate.ENDS
        return fate

    def _results(self) -> list[RankResult | None]:
        ranks = range(self._worker_group.spec.local_world_size)
        return [read_result(self._node.results, rank) for rank in ranks]


def failures_of(failures: Iterable[ProcessFailure]) -> dict[int, Failure]:
    """Return the deaths that torchrun has seen, by local rank and in their order."""
    in_order = sorted(failures, key=lambda failure: failure.timestamp)
    return {f.local_rank: Failure(pid=f.pid, exit_status=f.exitcode) for f in in_order}
