"""``reprieve-trainer launch``: torchrun in all but the exit code.

torchrun exits 1 for everything its workers say (trainer-facts 3, 2026-11-30). Here each rank
leaves a result file, and one pure rule makes an exit code of them.
"""

import logging
import os
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

from trainer_hooks.errors import ConfigError
from trainer_hooks.flag import StopNotice
from trainer_hooks.launch.agent import (
    Node,
    NodeLeavesError,
    RanksPreemptedError,
    failures_of,
    preemption_aware,
)
from trainer_hooks.launch.bereaved import PATIENCE_S, REJOIN_S, Bereaved
from trainer_hooks.launch.crash_loop import code_in_a_row
from trainer_hooks.launch.elastic import with_elastic_times
from trainer_hooks.launch.environment import raise_file_limit, set_environment
from trainer_hooks.launch.exit_codes import (
    EXIT_PREEMPTED,
    MAX_CRASHES,
    Failure,
    launch_exit_code,
)
from trainer_hooks.launch.fit import check_fit
from trainer_hooks.launch.in_force import stop_in_force
from trainer_hooks.launch.rendezvous import Membership
from trainer_hooks.launch.report import LaunchReport, nothing_started, summary
from trainer_hooks.launch.waiting import StopWhileWaiting
from trainer_hooks.launched import introduce_launcher
from trainer_hooks.results import RESULT_DIR_VARIABLE, read_result

log = logging.getLogger(__name__)

_TORCHRUN: Any = torch.distributed.run
"""Untyped."""

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
    options = _understood(arguments)
    set_environment(window_s, options.shutdown_timeout)
    raise_file_limit()
    ranks = _ranks(options.nproc_per_node)
    if ranks > 1:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # torchrun does, with four lines about it
    logging.getLogger("torch.distributed.elastic.multiprocessing.api").addFilter(_is_news)
    with tempfile.TemporaryDirectory(prefix="reprieve-results-") as directory:
        os.environ[RESULT_DIR_VARIABLE] = directory
        introduce_launcher()
        patience_s = REJOIN_S if _is_elastic(options) else PATIENCE_S
        bereaved = Bereaved(Path(directory), ranks, leave, patience_s)
        bereaved.start()
        end = _run_here(options, Path(directory), leave)
        bereaved.close()
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
    return LaunchReport(exit_code=code, reason=summary(results, end.reason) + said, results=results)


def _understood(arguments: Sequence[str]) -> Any:  # noqa: ANN401 - torchrun's own
    """Return torchrun's options, for an elastic job with the times that suit one.

    Raises:
        ConfigError: torchrun does not know one, or is not the one that our hooks are made for.
    """
    try:
        options = _TORCHRUN.parse_args([f"--signals-to-handle={_SIGNALS}", *arguments])
    except SystemExit as exit_:
        if not exit_.code:
            raise
        raise ConfigError("torchrun does not understand these arguments, see above") from exit_
    if _is_elastic(options):
        check_fit()
        options.rdzv_conf = with_elastic_times(options.rdzv_conf)
    return options


def _run_here(options: Any, results: Path, leave: Callable[[LaunchReport], NoReturn]) -> "_End":  # noqa: ANN401 - as above
    """Run torchrun to its end, or leave when a stop comes while no rank has been started."""
    membership = Membership()

    def leave_at_once(notice: StopNotice) -> NoReturn:
        membership.withdraw()
        leave(_told_by(notice))

    waiting = StopWhileWaiting(leave_at_once)
    waiting.start()
    node = Node(
        results=results,
        is_stop_in_force=waiting.forbids_a_start,
        is_elastic=_is_elastic(options),
        membership=membership,
    )
    with preemption_aware(node):
        end = _run(options)
    waiting.close()
    return end


def _is_elastic(options: Any) -> bool:  # noqa: ANN401 - as above
    """Tell whether the job goes on with fewer nodes than it may have."""
    fewest, most = _nodes(options.nnodes)
    return fewest < most and options.rdzv_backend == "c10d"


def _nodes(nnodes: str) -> tuple[int, int]:
    """Return how many nodes there are at least and at most.

    Raises:
        ConfigError: It is no number and no range, or no node at all.
    """
    try:
        fewest, most = _TORCHRUN.parse_min_max_nnodes(nnodes)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"torchrun can make nothing of --nnodes={nnodes:.80}: {error}") from error
    if not 1 <= fewest <= most:
        raise ConfigError(f"--nnodes={nnodes:.80} is no number of nodes from 1 on, nor MIN:MAX")
    return fewest, most


def _ranks(nproc_per_node: str) -> int:
    """Return how many ranks are to run here.

    Raises:
        ConfigError: It is no number from 1 on, and no kind of device that is here.
    """
    asked = f"--nproc-per-node={nproc_per_node:.80}"
    try:
        ranks = int(_TORCHRUN.determine_local_world_size(nproc_per_node))
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"torchrun can make nothing of {asked}: {error}") from error
    if ranks < 1:
        raise ConfigError(f"{asked} starts no rank: it is a number from 1 on, or a kind of device")
    return ranks


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
        return _End(failures_of(error.failures.values()), reason=_deaths(error))
    except NodeLeavesError as error:
        return _End(reason=str(error))
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
