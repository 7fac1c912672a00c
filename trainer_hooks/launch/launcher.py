"""``reprieve-trainer launch``: torchrun in all but the exit code.

torchrun exits 1 for everything its workers say (trainer-facts 3, 2026-11-30). Here each rank
leaves a result file, and one pure rule makes an exit code of them.
"""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from trainer_hooks.flag import StopNotice
from trainer_hooks.launch.agent import Node, preemption_aware
from trainer_hooks.launch.arguments import is_elastic, ranks_here, understood
from trainer_hooks.launch.bereaved import PATIENCE_S, REJOIN_S, Bereaved
from trainer_hooks.launch.crash_loop import code_in_a_row
from trainer_hooks.launch.environment import raise_file_limit, set_environment
from trainer_hooks.launch.exit_codes import (
    EXIT_CONFIG,
    EXIT_PREEMPTED,
    MAX_CRASHES,
    launch_exit_code,
)
from trainer_hooks.launch.in_force import said_of, stop_in_force
from trainer_hooks.launch.other_signals import other_signals
from trainer_hooks.launch.rendezvous import Membership
from trainer_hooks.launch.report import LaunchReport, nothing_started, summary
from trainer_hooks.launch.results_directory import ResultsDirectory
from trainer_hooks.launch.torchrun_end import TorchrunEnd, run_torchrun
from trainer_hooks.launch.waiting import StopWhileWaiting
from trainer_hooks.launched import introduce_launcher
from trainer_hooks.refusal import first_refusal
from trainer_hooks.results import RESULT_DIR_VARIABLE, read_result

log = logging.getLogger(__name__)


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
    options = understood(arguments)
    set_environment(window_s, options.shutdown_timeout)
    raise_file_limit()
    ranks = ranks_here(options.nproc_per_node)
    if ranks > 1:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # torchrun does, with four lines about it
    logging.getLogger("torch.distributed.elastic.multiprocessing.api").addFilter(_is_news)
    directory = ResultsDirectory()

    def clean_and_leave(report: LaunchReport) -> NoReturn:
        directory.remove()
        leave(report)

    try:
        os.environ[RESULT_DIR_VARIABLE] = str(directory.path)
        introduce_launcher()
        patience_s = REJOIN_S if is_elastic(options) else PATIENCE_S
        bereaved = Bereaved(directory.path, ranks, clean_and_leave, patience_s)
        bereaved.start()
        end = _run_here(options, directory.path, clean_and_leave)
        bereaved.close()
        results = [read_result(directory.path, rank) for rank in range(ranks)]
        refusal = first_refusal(directory.path)
    finally:
        directory.remove()
    code = launch_exit_code(
        results,
        end.failures,
        stopped_by=end.stopped_by,
        has_failed=end.reason is not None,
        is_rendezvous_lost=end.is_rendezvous_lost,
    )
    reason, said = summary(results, end.reason), ""
    if code == EXIT_CONFIG and refusal is not None:
        reason = f"{refusal} ({end.reason})"
    if end.stopped_by is None or code == EXIT_PREEMPTED:  # Ctrl-C is no crash
        code, said = code_in_a_row(code, results, max_crashes=max_crashes)
    return LaunchReport(exit_code=code, reason=reason + said, results=results)


def _run_here(
    options: Any,  # noqa: ANN401 - torchrun's own
    results: Path,
    leave: Callable[[LaunchReport], NoReturn],
) -> TorchrunEnd:
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
        is_elastic=is_elastic(options),
        membership=membership,
    )
    with other_signals(), preemption_aware(node):
        end = run_torchrun(options, node.has_begun.is_set)
    waiting.close()
    return end


def _told_by(notice: StopNotice) -> LaunchReport:
    return nothing_started(said_of(notice))


def _is_news(record: logging.LogRecord) -> bool:
    """Drop torchrun's error line about a rank that was preempted: it did what it should."""
    return f"failed (exitcode: {EXIT_PREEMPTED})" not in record.getMessage()
