"""The rule that makes one exit code of what the ranks have left."""

import os
import signal
from collections.abc import Sequence

import pytest

from trainer_hooks.launch.exit_codes import (
    EXIT_CONFIG,
    EXIT_CRASH_LOOP,
    EXIT_DONE,
    EXIT_PEER_LOST,
    EXIT_PREEMPTED,
    Failure,
    launch_exit_code,
)
from trainer_hooks.results import RankResult, RankState

TERM, KILL, INT = int(signal.SIGTERM), int(signal.SIGKILL), int(signal.SIGINT)

Rank = tuple[str | None, int | None]
"""What a rank has left, and how torchrun saw it die; None for what there was none of."""

DONE: Rank = ("finished", None)
SAVED: Rank = ("saved", None)
RUNNING: Rank = ("running", None)
SILENT: Rank = (None, None)
LOST: Rank = ("lost", 1)


def code(
    ranks: Sequence[Rank],
    *,
    stopped_by: int | None = None,
    has_failed: bool = True,
    is_rendezvous_lost: bool = False,
    pid_of_result: int = 100,
) -> int:
    """Apply the rule; ranks die in the order in which they are listed."""
    results = [
        None
        if state is None
        else RankResult(
            state=RankState(state), pid=pid_of_result, rank=rank, step=9, committed_step=None
        )
        for rank, (state, _) in enumerate(ranks)
    ]
    failures = {
        rank: Failure(pid=100, exit_status=status)
        for rank, (_, status) in enumerate(ranks)
        if status is not None
    }
    return launch_exit_code(
        results,
        failures,
        stopped_by=stopped_by,
        has_failed=has_failed,
        is_rendezvous_lost=is_rendezvous_lost,
    )


def test_codes_are_those_of_sysexits_when_schedulers_read_them() -> None:
    """They are a contract: manifests and units name them as numbers."""
    assert (EXIT_DONE, EXIT_PREEMPTED, EXIT_CONFIG) == (0, 75, 78)
    assert (EXIT_PEER_LOST, EXIT_CRASH_LOOP) == (76, 79)
    assert (os.EX_TEMPFAIL, os.EX_CONFIG) == (75, 78)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([DONE], 0),
        ([DONE, DONE], 0),
        ([SAVED, SAVED], 75),
        ([DONE, SAVED], 75),
        ([SILENT, SILENT], 0),
        ([RUNNING, RUNNING], 0),
    ],
    ids=["done", "all done", "saved", "mixture", "without hooks", "left early by itself"],
)
def test_code_follows_the_results_when_every_rank_exited_with_0(
    ranks: Sequence[Rank], expected: int
) -> None:
    """Also a preempted program that takes its own way out is preempted."""
    assert code(ranks, has_failed=False) == expected


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([("saved", 75), ("saved", 75)], 75),
        ([("saved", 75), ("saved", -TERM)], 75),
        ([("saved", -KILL), ("saved", 1)], 75),
        ([("finished", 1), DONE], 1),
        ([("finished", -11), DONE], 0),
        ([("finished", -TERM), ("saved", 75)], 75),
        ([("running", 1), ("running", 1)], 1),
        ([("running", 3), RUNNING], 3),
        ([("running", -KILL), ("running", -TERM)], 137),
        ([("running", -signal.SIGSEGV), RUNNING], 139),
        ([("running", -TERM), ("running", 3)], 3),
        ([("running", -TERM), ("running", -TERM)], 143),
        ([("saved", 75), ("running", 3)], 3),
        ([("saved", -TERM), ("running", -KILL)], 137),
        ([("finished", 1), ("running", 4)], 4),
        ([(None, 2), (None, -TERM)], 2),
        ([(None, -TERM), RUNNING], 143),
        ([("saved", 75), (None, 5)], 5),
        ([("saved", 75), RUNNING], 1),
        ([("saved", 75), SILENT], 1),
    ],
    ids=lambda value: "" if isinstance(value, int) else "+".join(f"{s}:{d}" for s, d in value),
)
def test_code_is_the_crashs_own_when_a_rank_died_that_had_not_saved(
    ranks: Sequence[Rank], expected: int
) -> None:
    """However those died that had: a crash is never a preemption, nor the reverse."""
    assert code(ranks) == expected


@pytest.mark.parametrize(
    ("ranks", "stopped_by", "expected"),
    [
        ([SILENT, SILENT], TERM, 75),
        ([SILENT], int(signal.SIGUSR1), 75),
        ([SILENT, SILENT], INT, 130),
        ([RUNNING, RUNNING], TERM, 143),
        ([RUNNING, SILENT], TERM, 143),
        ([SAVED, SAVED], TERM, 75),
        ([SAVED, SAVED], INT, 75),
        ([DONE, DONE], TERM, 0),
        ([SAVED, RUNNING], TERM, 143),
        ([SAVED, RUNNING], INT, 130),
        ([RUNNING, LOST], INT, 130),
        ([LOST, LOST], int(signal.SIGQUIT), 131),
        ([RUNNING, LOST], TERM, 76),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "+".join(str(s) for s, _ in value),
)
def test_code_is_a_preemption_only_when_nothing_was_lost_to_the_launchers_own_signal(
    ranks: Sequence[Rank], stopped_by: int, expected: int
) -> None:
    """Nobody had begun, or all had saved; Ctrl-C before the beginning is no preemption."""
    assert code(ranks, stopped_by=stopped_by) == expected


def test_code_is_the_crashs_own_when_the_result_is_of_an_earlier_process() -> None:
    """After a restart inside the agent, the new process has said nothing yet."""
    assert code([("saved", 3), SAVED], pid_of_result=99) == 3
    assert code([("finished", 3)], pid_of_result=99) == 3


def test_code_is_a_crash_when_the_rendezvous_was_lost_under_running_ranks() -> None:
    """Nobody died that torchrun knows of, and it failed all the same."""
    assert code([RUNNING, RUNNING]) == 1
    assert code([RUNNING, RUNNING], is_rendezvous_lost=True) == 76
    assert code([SILENT], is_rendezvous_lost=True) == 76
    assert code([SAVED, SAVED], is_rendezvous_lost=True) == 75


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([LOST], 76),
        ([LOST, LOST], 76),
        ([LOST, ("running", -TERM)], 76),
        ([("running", -TERM), LOST], 76),
        ([LOST, (None, -TERM)], 76),
        ([LOST, ("lost", -TERM)], 76),
        ([LOST, SAVED], 76),
        ([LOST, ("running", 3)], 3),
        ([("running", -KILL), LOST], 137),
        ([LOST, (None, 5)], 5),
    ],
    ids=lambda value: "" if isinstance(value, int) else "+".join(f"{s}:{d}" for s, d in value),
)
def test_code_is_76_when_every_rank_that_failed_had_lost_a_peer(
    ranks: Sequence[Rank], expected: int
) -> None:
    """One that failed by itself is what the others have lost: then its code counts."""
    assert code(ranks) == expected
