"""Result files: how each rank tells its launcher what became of it.

torchrun passes no exit code on, and its own SIGTERM may hit a rank that has long saved
everything; so the file decides, not the exit status. Written whole, by rename.
"""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from trainer_hooks.at_stop import AtStop
from trainer_hooks.errors import UntrustedFileError
from trainer_hooks.untrusted import read_json_object

log = logging.getLogger(__name__)

RESULT_DIR_VARIABLE = "REPRIEVE_RESULT_DIR"
_MAX_BYTES = 64 * 1024


class Cause(StrEnum):
    """Why all ranks have stopped, as this rank knows it."""

    THIS_NODE = "this_node"
    """This node goes away, perhaps among others."""
    OTHER_NODE = "other_node"
    """Only others do."""
    JOB = "job"
    """Somebody wants the whole job to stop, wherever it runs."""


class RankState(StrEnum):
    """How far a rank has come."""

    RUNNING = "running"
    """It trains, or it died training."""
    LOST = "lost"
    """It trained, and a peer went away under it: what went wrong is for that one to say."""
    SAVED = "saved"
    """Preempted, with all done that could be: however it dies after this, it is no crash."""
    FINISHED = "finished"
    """It has reached ``until``, and the final checkpoint is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankResult:
    """One rank's last word."""

    state: RankState
    pid: int
    rank: int
    step: int
    """Steps finished."""
    committed_step: int | None
    """Step of the newest checkpoint this run knows of."""
    at_stop: AtStop | None = None
    """What was done at the agreed stop; None if there was none."""
    cause: Cause | None = None
    """Why there was one."""
    root: str | None = None
    """The checkpoint directory, once this attempt has a number in it."""
    attempt: int | None = None
    """That number."""
    instants: Mapping[str, float] = field(default_factory=dict)
    """What happened when, as seconds of Unix time: noticed, agreed, stopped, committed ..."""


def report_result(result: RankResult) -> None:
    """Tell this rank's launcher, if there is one. Each rank calls it for itself.

    A launcher that cannot be told costs the exit code, never the training.
    """
    directory = os.environ.get(RESULT_DIR_VARIABLE)
    if directory:
        try:
            write_result(Path(directory), int(os.environ.get("LOCAL_RANK", "0")), result)
        except OSError as error:
            log.warning("the launcher cannot be told that this rank is %s: %s", result.state, error)


def write_result(directory: Path, local_rank: int, result: RankResult) -> None:
    """Write a rank's result, whole."""
    path = _path(directory, local_rank)
    temporary = path.with_suffix(".tmp")
    body = {
        "schema": 1,
        "state": result.state,
        "pid": result.pid,
        "rank": result.rank,
        "step": result.step,
        "committed_step": result.committed_step,
        "at_stop": result.at_stop,
        "cause": result.cause,
        "root": result.root,
        "attempt": result.attempt,
        "instants": dict(result.instants),
    }
    temporary.write_text(json.dumps(body), encoding="ascii")
    temporary.replace(path)


def read_result(directory: Path, local_rank: int) -> RankResult | None:
    """Read a rank's result; None if it never wrote one, or wrote nonsense."""
    try:
        data = read_json_object(_path(directory, local_rank), max_bytes=_MAX_BYTES)
    except (FileNotFoundError, UntrustedFileError):
        return None
    match data:
        case {
            "schema": 1,
            "state": str(state),
            "pid": int(pid),
            "rank": int(rank),
            "step": int(step),
            "committed_step": None | int() as committed_step,
            "at_stop": None | str() as at_stop,
            "cause": None | str() as cause,
            "root": None | str() as root,
            "attempt": None | int() as attempt,
            "instants": dict(instants),
        } if (
            state in set(RankState)
            and (at_stop is None or at_stop in set(AtStop))
            and (cause is None or cause in set(Cause))
        ):
            return RankResult(
                state=RankState(state),
                pid=pid,
                rank=rank,
                step=step,
                committed_step=committed_step,
                at_stop=None if at_stop is None else AtStop(at_stop),
                cause=None if cause is None else Cause(cause),
                root=root,
                attempt=attempt,
                instants={what: at for what, at in instants.items() if isinstance(at, float)},
            )
    return None


def forget_results(directory: Path) -> None:
    """Remove what earlier ranks have left. The launcher calls it before it starts others."""
    for path in directory.glob("local_rank_*"):
        path.unlink(missing_ok=True)


def some_rank_saved(directory: Path) -> bool:
    """Tell whether any rank of this node has reported that it was preempted."""
    ranks = range(len(list(directory.glob("local_rank_*.json"))))
    results = (read_result(directory, rank) for rank in ranks)
    return any(result is not None and result.state is RankState.SAVED for result in results)


def _path(directory: Path, local_rank: int) -> Path:
    return directory / f"local_rank_{local_rank:03d}.json"
