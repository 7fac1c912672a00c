"""Random interruption runs: a job of pretended ranks, what comes to it, and what must hold.

A seed gives the plan; between what moments a thing falls is the machine's choice. To run one
again, and to look for the least of its events with which it still fails::

    .venv/bin/python -m tests.support.random_run SEED [TIMES]
"""

import os
import re
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tests.support.flags import put_flag, remove_flag
from tests.support.pretended_rank import EARLY, be_rank
from tests.support.random_plan import ENDLESS, Event, Plan, What, draw
from trainer_hooks import EXIT_PREEMPTED
from trainer_hooks.launch.exit_codes import Failure, launch_exit_code
from trainer_hooks.results import RankResult, RankState, read_result

LIMIT_S = 120.0
"""Whoever lives longer than this hangs: all deadlines that end a run are long past."""

AT_ONCE = 6
"""Jobs beside each other: their ranks mostly wait."""

SIGNALS = {What.SIGTERM: signal.SIGTERM, What.HANG: signal.SIGUSR2, What.KILL: signal.SIGKILL}
EXCUSES = (
    "PeerLostError",
    "CheckpointError",
    "AgreementError",
    "DistNetworkError",
    "DistStoreError",
)
"""What a rank may die of when another one was killed."""


class RandomRun:
    """One job under way, from the start of its ranks until all have ended."""

    def __init__(self, plan: Plan, directory: Path) -> None:
        self.plan, self._directory = plan, directory
        for node in range(plan.nodes):
            (directory / f"node_{node}").mkdir(parents=True)
        self._to_come = list(plan.events)
        self._codes: dict[int, int] = {}
        """By rank, in the order of their deaths."""
        self._hung: list[int] = []
        self._pids = self._fork()
        self._began_s = time.monotonic()

    def is_over(self) -> bool:
        """Let happen what is due; tell whether all ranks have ended."""
        age_s = time.monotonic() - self._began_s
        while self._to_come and self._to_come[0].at_s <= age_s:
            self._inflict(self._to_come.pop(0))
        for rank, pid in enumerate(self._pids):
            if rank not in self._codes:
                self._reap(rank, pid, is_late=age_s > LIMIT_S)
        return len(self._codes) == len(self._pids)

    def kill(self) -> None:
        """End all ranks that are left."""
        for rank, pid in enumerate(self._pids):
            if rank not in self._codes:
                self._reap(rank, pid, is_late=True)

    def faults(self) -> list[str]:
        """Return what is wrong with how the job has ended."""
        plan, codes = self.plan, [self._codes[rank] for rank in range(self.plan.size)]
        if self._hung:
            return [f"ranks {self._hung} hang"]
        stops = {stop for rank in range(plan.size) for stop in self._said(rank, r"STOP step=(\d+)")}
        found = [f"ranks stop at different steps: {stops}"] if len(stops) > 1 else []
        states = {result.state for result in self._results() if result is not None}
        if {RankState.SAVED, RankState.FINISHED} <= states:
            found.append("some ranks are preempted and some finished")
        if plan.has(What.KILL):
            return [*found, *self._faults_of_killed(codes)]
        return [*found, *self._faults_of_whole(codes)]

    def report(self) -> str:
        """Return all that was said."""
        logs = (
            f"-- rank {r} ({self._codes.get(r)})\n{self._log(r)}" for r in range(self.plan.size)
        )
        return "\n".join([str(self.plan), *logs])

    def _faults_of_killed(self, codes: list[int]) -> Iterator[str]:
        """A job that lost ranks: the others may have failed, but of nothing else."""
        for rank, code in enumerate(codes):
            is_known = code in (0, EXIT_PREEMPTED, -signal.SIGKILL)
            if not is_known and not (code == 1 and self._has_excuse(rank)):
                yield f"rank {rank} exits with {code}"
        results = self._results()
        is_whole = all(r is not None and r.state is not RankState.RUNNING for r in results)
        if not is_whole and self._launch_code(results) in (0, EXIT_PREEMPTED):
            yield "a job that lost ranks in the middle is no crash"

    def _faults_of_whole(self, codes: list[int]) -> Iterator[str]:
        """A job that lost no rank: all ranks do the same in all."""
        plan, results = self.plan, self._results()
        if len(set(codes)) > 1 or self._launch_code(results) != codes[0]:
            yield f"exit codes {codes}, and {self._launch_code(results)} of the launch"
        is_told = plan.has(What.STOP, What.SIGTERM)
        if codes[0] not in ({0, EXIT_PREEMPTED} if is_told else {0}):
            yield f"exit code {codes[0]}, {'' if is_told else 'not '}told to stop"
        if plan.has(What.HANG):
            return  # who hangs has done less than the others, and nothing in common with them
        if len({(r and r.step, r and r.committed_step) for r in results}) > 1:
            yield f"ranks are at different steps, or know of different saves: {results}"
        if len({tuple(self._said(rank, r"SAVE step=(\d+)")) for rank in range(plan.size)}) > 1:
            yield "ranks save at different steps"
        if any("SAVE FAILED" in self._log(rank) for rank in range(plan.size)):
            yield "a save failed"
        if plan.until == ENDLESS and codes[0] == 0:
            yield "it has come to its end, which there is none of"

    def _has_excuse(self, rank: int) -> bool:
        return any(excuse in self._log(rank) for excuse in EXCUSES)

    def _fork(self) -> list[int]:
        pids = []
        before = signal.pthread_sigmask(signal.SIG_BLOCK, EARLY)
        try:
            with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
                for rank in range(self.plan.size):
                    pid = os.fork()
                    if pid == 0:
                        be_rank(self.plan, rank, listening, self._directory)
                    pids.append(pid)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pids

    def _inflict(self, event: Event) -> None:
        for target in event.targets:
            node = self._directory / f"node_{target}"
            name = f"{event.what}-at-{event.at_s:.3f}-of-{target}"
            match event.what:
                case What.STOP | What.ADVICE:
                    urgency = "stop" if event.what is What.STOP else "advisory"
                    put_flag(node, notice_id=name, urgency=urgency, left_s=event.left_s)
                case What.WITHDRAWAL:
                    with suppress(FileNotFoundError):
                        remove_flag(node)
                case _ if target not in self._codes:  # its pid is still ours, if only a zombie
                    os.kill(self._pids[target], SIGNALS[event.what])

    def _reap(self, rank: int, pid: int, *, is_late: bool) -> None:
        if is_late:
            self._hung.append(rank)
            os.kill(pid, signal.SIGKILL)
        found, status = os.waitpid(pid, 0 if is_late else os.WNOHANG)
        if found:
            self._codes[rank] = os.waitstatus_to_exitcode(status)

    def _results(self) -> list[RankResult | None]:
        return [read_result(self._directory, rank) for rank in range(self.plan.size)]

    def _launch_code(self, results: list[RankResult | None]) -> int:
        failures = {
            rank: Failure(pid=self._pids[rank], exit_status=code)
            for rank, code in self._codes.items()
            if code != 0
        }
        return launch_exit_code(results, failures, stopped_by=None, has_failed=bool(failures))

    def _said(self, rank: int, pattern: str) -> list[str]:
        return re.findall(pattern, self._log(rank))

    def _log(self, rank: int) -> str:
        path = self._directory / f"rank_{rank}.txt"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def run_all(plans: Iterable[Plan], directory: Path) -> Iterator[RandomRun]:
    """Run jobs, some beside each other; yield each as it ends."""
    to_do = enumerate(plans)
    under_way: list[RandomRun] = []
    try:
        while True:
            for number, plan in islice(to_do, AT_ONCE - len(under_way)):
                under_way.append(RandomRun(plan, directory / f"{number}_{plan.seed}"))
            if not under_way:
                return
            over = [run for run in under_way if run.is_over()]
            under_way = [run for run in under_way if run not in over]
            yield from over
            time.sleep(0.002)
    finally:
        for run in under_way:
            run.kill()


def first_faults(plan: Plan, times: int) -> list[str]:
    """Run a plan until it fails, so often at most; show it, and return what was wrong."""
    with tempfile.TemporaryDirectory() as directory:
        for run in run_all([plan] * times, Path(directory)):
            if faults := run.faults():
                print(run.report(), *faults, sep="\n", flush=True)  # noqa: T201 - for people
                return faults
    return []


def shrink(plan: Plan, times: int) -> Plan:
    """Leave out every event without which it still fails."""
    index = 0
    while index < len(plan.delays) + len(plan.events):
        less = plan.without(index)
        if first_faults(less, times):
            plan = less
        else:
            index += 1
    return plan


def main(seed: str, times: str = "10") -> None:
    """Run a seed again, and shrink it if it fails."""
    plan = draw(int(seed))
    print(plan)  # noqa: T201 - for people
    if not first_faults(plan, int(times)):
        print(f"{times} runs without a fault")  # noqa: T201 - for people
        return
    print("the least that fails:", shrink(plan, int(times)), sep="\n")  # noqa: T201 - for people
    sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
