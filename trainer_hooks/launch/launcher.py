"""``reprieve-trainer launch``: torchrun in all but the exit code.

torchrun exits 1 for everything its workers say (trainer-facts 3, 2026-11-30). Here each rank
leaves a result file, and one pure rule makes an exit code of them.
"""

import logging
import os
import resource
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import torch.distributed.run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous.api import RendezvousError

from trainer_hooks.at_stop import AtStop
from trainer_hooks.errors import ConfigError
from trainer_hooks.flag import StopNotice
from trainer_hooks.launch.agent import RanksPreemptedError, preemption_aware
from trainer_hooks.launch.crash_loop import code_in_a_row
from trainer_hooks.launch.exit_codes import (
    EXIT_PREEMPTED,
    MAX_CRASHES,
    Failure,
    launch_exit_code,
)
from trainer_hooks.launch.in_force import stop_in_force
from trainer_hooks.launch.report import LaunchReport, nothing_started
from trainer_hooks.launch.waiting import StopWhileWaiting
from trainer_hooks.launched import GRACE_VARIABLE, introduce_launcher
from trainer_hooks.results import (
    RESULT_DIR_VARIABLE,
    RankResult,
    RankState,
    read_result,
)

log = logging.getLogger(__name__)

_WORDS = {
    RankState.RUNNING: "broke off",
    RankState.LOST: "lost a peer",
    RankState.SAVED: "stopped",
    RankState.FINISHED: "finished",
}

_TORCHRUN: Any = torch.distributed.run
"""Untyped."""

AGENT_EXIT_S = 5.0
"""What the agent itself needs after its workers, out of the window."""

DEFAULT_WINDOW_S = 120.0
"""AWS Spot's notice (cloud-contract 0, 2026-11-30); ranks that are done leave at once anyway."""

_TIMEOUT_VARIABLE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"

_SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1"
"""torchrun's own, and SIGUSR1: an agent that does not handle it dies and leaves orphans."""


def launch(
    arguments: Sequence[str],
    *,
    window_s: float | None,
    max_crashes: int = MAX_CRASHES,
    leave: Callable[[LaunchReport], NoReturn],
) -> LaunchReport:
    """Run a script on this node's ranks as torchrun does, and say how it ended.

    Args:
        arguments: torchrun's own, then the script and its arguments.
        window_s: Seconds between SIGTERM and SIGKILL on this platform; None if nobody has said.
        max_crashes: So many crashes in a row, with no new checkpoint in between, end with 79.
        leave: Ends the process with a report; called from a thread when a stop comes while no
            rank has been started.
    """
    notice = stop_in_force()
    if notice is not None:
        return _told_by(notice)
    try:
        options = _TORCHRUN.parse_args([f"--signals-to-handle={_SIGNALS}", *arguments])
    except SystemExit as exit_:
        if not exit_.code:
            raise
        raise ConfigError("torchrun does not understand these arguments, see above") from exit_
    _set_environment(window_s, options.shutdown_timeout)
    _raise_file_limit()
    ranks = _ranks(options.nnodes, options.nproc_per_node)
    if ranks > 1:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # torchrun does, with four lines about it
    logging.getLogger("torch.distributed.elastic.multiprocessing.api").addFilter(_is_news)
    with tempfile.TemporaryDirectory(prefix="reprieve-results-") as directory:
        os.environ[RESULT_DIR_VARIABLE] = directory
        introduce_launcher()
        waiting = StopWhileWaiting(lambda notice: leave(_told_by(notice)))
        waiting.start()
        with preemption_aware(Path(directory), waiting.forbids_a_start):
            end = _run(options)
        waiting.close()
        results = [read_result(Path(directory), rank) for rank in range(ranks)]
    code = launch_exit_code(
        results,
        end.failures,
        stopped_by=end.stopped_by,
        has_failed=end.reason is not None,
        is_rendezvous_lost=end.is_rendezvous_lost,
    )
    said = ""
    if end.stopped_by is None or code == EXIT_PREEMPTED:  # Ctrl-C is no crash
        code, said = code_in_a_row(code, results, max_crashes=max_crashes)
    return LaunchReport(
        exit_code=code, reason=_summary(results, end.reason) + said, results=results
    )


def _ranks(nnodes: str, nproc_per_node: str) -> int:
    """Return how many ranks are to run here.

    Raises:
        ConfigError: One of the two is no number, no range, or no kind of device that is here.
    """
    try:
        _TORCHRUN.parse_min_max_nnodes(nnodes)
        return int(_TORCHRUN.determine_local_world_size(nproc_per_node))
    except (ValueError, RuntimeError) as error:
        asked = f"--nnodes={nnodes:.80} --nproc-per-node={nproc_per_node:.80}"
        raise ConfigError(f"torchrun can make nothing of {asked}: {error}") from error


def _told_by(notice: StopNotice) -> LaunchReport:
    return nothing_started(f"stop notice {notice.id} is in force on this node")


class _End(NamedTuple):
    """How torchrun has ended."""

    failures: Mapping[int, Failure] = MappingProxyType({})
    """By local rank, in the order of their deaths."""
    stopped_by: int | None = None
    """The signal that has stopped it."""
    reason: str | None = None
    """Its complaint; None if it has none."""
    is_rendezvous_lost: bool = False


def _run(options: object) -> _End:
    """Run torchrun to its end."""
    try:
        _TORCHRUN.run(options)
    except ChildFailedError as error:
        in_order = sorted(error.failures.values(), key=lambda failure: failure.timestamp)
        failures = {f.local_rank: Failure(pid=f.pid, exit_status=f.exitcode) for f in in_order}
        return _End(failures, reason=_deaths(error))
    except SignalException as error:
        name = signal.Signals(error.sigval).name
        return _End(stopped_by=int(error.sigval), reason=f"stopped by {name}")
    except RanksPreemptedError as error:
        return _End(reason=str(error))
    except RendezvousError as error:
        # The node that hosts the rendezvous has left first; the ranks' own files still count.
        return _End(reason=f"the rendezvous is lost: {error}", is_rendezvous_lost=True)
    return _End()


def _deaths(error: ChildFailedError) -> str:
    return "; ".join(f"rank {r} exited with {f.exitcode}" for r, f in error.failures.items())


def _is_news(record: logging.LogRecord) -> bool:
    """Drop torchrun's error line about a rank that was preempted: it did what it should."""
    return f"failed (exitcode: {EXIT_PREEMPTED})" not in record.getMessage()


def _set_environment(window_s: float | None, own_timeout_s: int | None) -> None:
    """Give the ranks their time, and tell them of it if anybody knows what it is.

    Args:
        window_s: As for ``launch``.
        own_timeout_s: torchrun's own ``--shutdown-timeout``, which wins over its variable.

    Raises:
        ConfigError: torchrun's variable is no number.
    """
    # With the worker store shared with the agent, an in-agent restart breaks gloo (8.4).
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    timeouts = [] if own_timeout_s is None else [own_timeout_s]
    if own_timeout_s is None and (text := os.environ.get(_TIMEOUT_VARIABLE)) is not None:
        timeouts = [_whole_seconds(text)]
    if window_s is not None:
        timeouts.append(_agents_timeout_s(window_s))
    os.environ.setdefault(_TIMEOUT_VARIABLE, str(_agents_timeout_s(window_s or DEFAULT_WINDOW_S)))
    if timeouts:  # a default is no deadline to count on: the platform's may be sooner
        os.environ[GRACE_VARIABLE] = str(min(timeouts))


def _agents_timeout_s(window_s: float) -> int:
    return max(1, int(window_s - AGENT_EXIT_S))


def _whole_seconds(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ConfigError(f"{_TIMEOUT_VARIABLE} counts whole seconds, not {text!r}") from error


def _raise_file_limit() -> None:
    """Rank 0 hosts the Store: six connections a rank of the world, and gloo's own."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _summary(results: Sequence[RankResult | None], reason: str | None) -> str:
    known = [result for result in results if result is not None]
    if not known:
        return reason or "done; the script does not use TrainerHooks"
    words = "+".join(sorted({_WORDS[result.state] for result in known}))
    step = max(result.step for result in known)
    committed = max((r.committed_step for r in known if r.committed_step is not None), default=None)
    summary = f"ranks {words} at step {step}"
    if any(result.at_stop is AtStop.EMERGENCY for result in known):
        summary += " and saved once more"
    summary += f", newest checkpoint {committed}"
    if step > (committed or 0):
        summary += f": {step - (committed or 0)} steps will be done again"
    return summary if reason is None else f"{summary}; {reason}"
