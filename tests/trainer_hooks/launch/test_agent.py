"""What our agent makes of its ranks' ends, in torchrun's own loop; no process is started."""

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import HashStore
from torch.distributed.elastic.agent.server import RunResult, WorkerSpec, WorkerState
from torch.distributed.elastic.agent.server.api import SimpleElasticAgent, Worker
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler

from trainer_hooks.launch.agent import Agent, Node, NodeLeavesError, RanksPreemptedError
from trainer_hooks.launch.elastic import MAX_LOSSES
from trainer_hooks.launch.first_signal import FirstSignal
from trainer_hooks.launch.rendezvous import Membership
from trainer_hooks.results import Cause, RankResult, RankState, write_result

SAVED, LOST, RUNNING, FINISHED = (
    RankState.SAVED,
    RankState.LOST,
    RankState.RUNNING,
    RankState.FINISHED,
)
FAILED, HEALTHY, SUCCEEDED = WorkerState.FAILED, WorkerState.HEALTHY, WorkerState.SUCCEEDED

Seen = tuple[WorkerState, RankState | None, Cause | None]
"""How the one rank is, and what it has left."""
DONE: Seen = (SUCCEEDED, FINISHED, None)


@dataclass(kw_only=True)
class Script:
    """What happens around the agent, and what it has done."""

    results: Path
    seen: deque[Seen] = field(default_factory=deque)
    waiting: int = 0
    """Nodes that want to join."""
    is_stop: bool = False
    starts: int = 0

    def monitor(self, _: object) -> RunResult:
        """Return how the rank is, in the place of a look at its process."""
        state, left, cause = self.seen.popleft()
        if left is not None:
            word = RankResult(state=left, cause=cause, pid=1, rank=0, step=5, committed_step=5)
            write_result(self.results, 0, word)
        return RunResult(state=state, return_values={0: None} if state is SUCCEEDED else {})

    def meet(self, group: Any) -> None:  # noqa: ANN401 - torch's
        """Meet the other nodes; who comes while the ranks run is taken in."""
        group.workers = [Worker(local_rank=0, global_rank=0)]
        if self.starts:
            self.waiting = 0

    def start(self, _: object) -> dict[int, int]:
        """Start the rank."""
        self.starts += 1
        return {0: 1}


RunAgent = Callable[..., Script]


@pytest.fixture
def run_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunAgent]:
    """Run the agent of a node of an elastic job while things happen."""
    script = Script(results=tmp_path)
    for owner, name, method in (
        (LocalElasticAgent, "_monitor_workers", script.monitor),
        (LocalElasticAgent, "_start_workers", script.start),
        (LocalElasticAgent, "_shutdown", lambda *_, **__: None),
        (SimpleElasticAgent, "_rendezvous", script.meet),
        (SimpleElasticAgent, "_exit_barrier", lambda _: None),
        (DynamicRendezvousHandler, "num_nodes_waiting", lambda _: script.waiting),
    ):
        monkeypatch.setattr(owner, name, method)

    def run(
        seen: Sequence[Seen],
        *,
        is_elastic: bool = True,
        restarts: int = 0,
        **around: Any,  # noqa: ANN401 - a Script's
    ) -> Script:
        script.seen.extend(seen)
        for name, value in around.items():
            setattr(script, name, value)
        store: Any = HashStore()
        handler = DynamicRendezvousHandler.from_backend(
            "job", store, C10dRendezvousBackend(store, "job"), 1, 3
        )
        spec = WorkerSpec(
            role="rank",
            local_world_size=1,
            entrypoint="train",
            rdzv_handler=handler,
            max_restarts=restarts,
            monitor_interval=0.001,
        )
        node = Node(
            results=tmp_path,
            is_stop_in_force=lambda: script.is_stop,
            is_elastic=is_elastic,
            membership=Membership(),
        )
        none: Any = None
        Agent(node, FirstSignal(), spec, none).run()
        return script

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    "end",
    [(FAILED, SAVED, Cause.OTHER_NODE), (SUCCEEDED, SAVED, Cause.OTHER_NODE), (FAILED, LOST, None)],
)
def test_ranks_are_started_anew_when_another_node_goes(run_agent: RunAgent, end: Seen) -> None:
    """However often, with no restart to spend."""
    rounds = MAX_LOSSES - 1
    assert run_agent([end] * rounds + [DONE]).starts == rounds + 1


def test_node_ends_when_others_vanish_over_and_over(run_agent: RunAgent) -> None:
    """Nothing was committed in between: perhaps it is the job that kills them."""
    assert run_agent([(FAILED, LOST, None)] * MAX_LOSSES).starts == MAX_LOSSES


def test_node_leaves_when_its_own_notice_stopped_all(run_agent: RunAgent) -> None:
    """As a signal would have it: the rendezvous stays open."""
    with pytest.raises(NodeLeavesError):
        run_agent([(FAILED, SAVED, Cause.THIS_NODE)], restarts=3)


def test_job_ends_when_a_user_has_stopped_it(run_agent: RunAgent) -> None:
    """Also where restarts are left."""
    with pytest.raises(RanksPreemptedError):
        run_agent([(FAILED, SAVED, Cause.JOB)], restarts=3)


def test_job_ends_when_a_node_wants_to_join_as_a_user_stops_it(run_agent: RunAgent) -> None:
    """The node would be taken in by a start that nobody has asked to stop."""
    with pytest.raises(RanksPreemptedError, match="the whole job is to stop"):
        run_agent([(HEALTHY, SAVED, Cause.JOB)], waiting=1)


def test_ranks_are_started_anew_when_a_node_joins(run_agent: RunAgent) -> None:
    """They have been told to stop by their own agent, which is no notice."""
    assert run_agent([(HEALTHY, SAVED, Cause.THIS_NODE), DONE], waiting=1).starts == 2


def test_node_leaves_when_its_notice_came_as_another_one_joined(run_agent: RunAgent) -> None:
    """Nothing starts on a node with a stop in force."""
    with pytest.raises(NodeLeavesError):
        run_agent([(HEALTHY, RUNNING, None)], waiting=1, is_stop=True)


def test_job_of_fixed_size_ends_when_another_node_goes(run_agent: RunAgent) -> None:
    """It is for the scheduler to start it again, with as many nodes."""
    with pytest.raises(RanksPreemptedError, match="were preempted"):
        run_agent([(FAILED, SAVED, Cause.OTHER_NODE)], is_elastic=False, restarts=3)
    with pytest.raises(RanksPreemptedError, match="nothing is restarted"):
        run_agent([(FAILED, RUNNING, None)], is_elastic=False, restarts=3, is_stop=True)


def test_crash_costs_a_restart_when_the_job_is_elastic(run_agent: RunAgent) -> None:
    """As without: it is started again once, and then it is the end."""
    assert run_agent([(FAILED, RUNNING, None)] * 2, restarts=1).starts == 2
