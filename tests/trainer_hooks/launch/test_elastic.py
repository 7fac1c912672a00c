"""Whether a node ends, leaves or goes on when its ranks are gone."""

from collections.abc import Sequence

import pytest

from trainer_hooks.launch.elastic import MAX_LOSSES, Fate, Losses, fate_of, with_elastic_times
from trainer_hooks.launch.exit_codes import Failure
from trainer_hooks.results import Cause, RankResult, RankState

THIS, OTHER, JOB = Cause.THIS_NODE, Cause.OTHER_NODE, Cause.JOB
SAVED, LOST, RUNNING, FINISHED = (
    RankState.SAVED,
    RankState.LOST,
    RankState.RUNNING,
    RankState.FINISHED,
)

Left = tuple[RankState, Cause | None] | None
"""What a rank has left: its state and the stop's cause."""


def result(left: Left, committed_step: int | None = None) -> RankResult | None:
    """Return a rank's last word."""
    if left is None:
        return None
    state, cause = left
    return RankResult(
        state=state, cause=cause, pid=9, rank=0, step=5, committed_step=committed_step
    )


def fate(ranks: Sequence[Left], statuses: Sequence[int], *, is_stop: bool = False) -> Fate:
    """Return what becomes of a node whose ranks have left this, and exited so."""
    failures = {
        rank: Failure(pid=9, exit_status=status) for rank, status in enumerate(statuses) if status
    }
    return fate_of([result(left) for left in ranks], failures, is_stop_in_force=lambda: is_stop)


@pytest.mark.parametrize(
    ("ranks", "statuses", "expected"),
    [
        ([(SAVED, OTHER), (SAVED, OTHER)], [75, 75], Fate.GOES_ON),
        ([(SAVED, OTHER), (SAVED, OTHER)], [0, 0], Fate.GOES_ON),
        ([(SAVED, OTHER), (FINISHED, OTHER)], [75, 0], Fate.GOES_ON),
        ([(SAVED, THIS), (SAVED, OTHER)], [75, 75], Fate.LEAVES),
        ([(SAVED, THIS), (SAVED, THIS)], [0, 0], Fate.LEAVES),
        ([(SAVED, JOB), (SAVED, JOB)], [75, 75], Fate.ENDS),
        ([(SAVED, JOB), (SAVED, THIS)], [75, 75], Fate.ENDS),
        ([(SAVED, None), (SAVED, None)], [75, 75], Fate.ENDS),
        ([(FINISHED, None), (FINISHED, OTHER)], [0, 0], Fate.ENDS),
        ([(LOST, None), (LOST, None)], [1, 1], Fate.GOES_ON),
        ([(LOST, None), (RUNNING, None)], [1, -15], Fate.GOES_ON),
        ([(LOST, None), (RUNNING, None)], [1, 3], Fate.ENDS),
        ([(SAVED, OTHER), (RUNNING, None)], [75, 3], Fate.ENDS),
        ([(RUNNING, None), (RUNNING, None)], [75, 75], Fate.ENDS),
        ([None, None], [75, 75], Fate.ENDS),
        ([None, None], [0, 0], Fate.ENDS),
    ],
    ids=[
        "another node's notice",
        "read the outcome",
        "one at its end",
        "own notice, told to one rank",
        "own notice, read the outcome",
        "asked by a user",
        "asked by a user and a notice",
        "launcher gone",
        "done",
        "another node vanished",
        "the agent ended the other rank",
        "a crash here",
        "a crash after the stop",
        "the script's own 75",
        "75 without hooks",
        "0 without hooks",
    ],
)
def test_fate_follows_the_agreed_cause_when_ranks_are_gone(
    ranks: Sequence[Left], statuses: Sequence[int], expected: Fate
) -> None:
    """Only for another node's sake are ranks started anew."""
    assert fate(ranks, statuses) is expected


@pytest.mark.parametrize("state", [SAVED, LOST])
def test_node_leaves_when_a_notice_came_while_its_ranks_stopped(state: RankState) -> None:
    """Nothing starts on a node with a stop in force, whatever the ranks had stopped for."""
    assert fate([(state, OTHER)], [75], is_stop=True) is Fate.LEAVES


def test_crash_is_a_crash_when_a_notice_is_in_force() -> None:
    """It ends the job, or costs a restart, as without one."""
    assert fate([(RUNNING, None)], [1], is_stop=True) is Fate.ENDS


def test_losses_are_too_many_when_nothing_is_committed_in_between() -> None:
    """A commit begins the row anew, and preemptions are never counted."""
    losses, lost, saved = Losses(), (LOST, None), (SAVED, OTHER)
    counts = [losses.are_too_many([result(lost, 10)]) for _ in range(MAX_LOSSES - 1)]
    assert not any(counts)
    assert not losses.are_too_many([result(saved, 10), None])
    assert not losses.are_too_many([result(lost, 20), None])
    counts = [losses.are_too_many([result(lost, 20)]) for _ in range(MAX_LOSSES - 1)]
    assert counts == [False] * (MAX_LOSSES - 2) + [True]


def test_losses_are_too_many_when_there_is_no_checkpoint_at_all() -> None:
    """A row of none counts too."""
    losses = Losses()
    counts = [losses.are_too_many([result((LOST, None))]) for _ in range(MAX_LOSSES)]
    assert counts == [False] * (MAX_LOSSES - 1) + [True]


def test_users_own_times_win_when_they_are_given() -> None:
    """torchrun takes the last of two."""
    given = "last_call_timeout=60,is_host=0"
    assert with_elastic_times(given).endswith(f",{given}")
    assert "keep_alive_interval=2,keep_alive_max_attempt=5" in with_elastic_times("")
