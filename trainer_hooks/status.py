"""Says how this trainer is, in ``trainers/<id>.json`` of the run directory, while it lives.

The watcher reads it before it has a pod evicted: one whose trainer has not saved is left alone. One
process of each node writes, from a thread of its own about every two seconds and at every change.
Without the directory nothing is written, and nothing that fails here holds the training up.
"""

import json
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

from trainer_hooks.clock import boot_id, boottime_s
from trainer_hooks.flag import run_directory
from trainer_hooks.phases import MOST_HERE, PhaseTimes

log = logging.getLogger(__name__)

DIRECTORY = "trainers"
POD_UID_VARIABLE = "REPRIEVE_POD_UID"
"""The pod's uid, from the downward API; without it nobody knows whose trainer this is."""

BEAT_S = 2.0
"""Seconds between two signs of life; the watcher takes a trainer for dead after 10 s without."""

CLOSE_S = 1.0
"""Longest that the end of a run waits for the last word, in seconds."""

LEFTOVER_S = 60.0
"""How old a file of an earlier start has to be to be removed, in seconds."""

GONE_S = 86400.0
"""The same for another pod's: no other start is made in that pod, and the watcher looks at 256."""

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TrainerState(StrEnum):
    """How far a trainer has come."""

    RUNNING = "running"
    STOPPING = "stopping"
    """All ranks have agreed where they stop."""
    SAVED = "saved"
    """All that it will commit is committed."""
    EXITED = "exited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where the training is, as the thread that tells of it finds it."""

    step: int
    """Steps finished."""
    stop_step: int | None = None
    """The step at which all ranks stop, once that is agreed."""
    committed_step: int | None = None
    committed_at: float | None = None
    """When this run's newest commit was, as seconds of Unix time."""
    stall_s: float | None = None
    """How long the last save has held the training up."""
    commit_lag_s: float | None = None
    """How long it took from there to its commit."""
    step_s: float | None = None
    """How long a step takes of late, saves apart."""
    save_every_steps: int | None = None
    """Steps between saves."""
    attempt: int | None = None
    """Which start of the run this is."""
    noticed_at: float | None = None
    """When it heard of its newest stop notice, in seconds of Unix time; as all instants here."""
    stopped_at: float | None = None
    """When it came to where all ranks stop."""
    verified_at: float | None = None
    """When a checkpoint of the run was last found good byte for byte. Only rank 0 knows."""
    paid_gpu_s: float | None = None
    """What the run has paid for, all attempts together. Only rank 0 knows."""
    productive_gpu_s: float | None = None
    """What of it has lasted, as far as that is known by now."""
    straggler_score: float | None = None
    """Own time of the slowest rank in medians, where guards look for it. Only rank 0 knows."""
    straggler_s: float | None = None
    """What of each step is lost to a rank that was found to be slow; likewise."""
    ranks: Sequence[PhaseTimes] = ()
    """What the ranks on this node have spent since their first step, by local rank: the first
    alone, where no guards tell of the others."""
    grace_s: float | None = None
    """Between a stop signal and SIGKILL, where somebody has said."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks, and where."""

    boot_id: str
    pod_uid: str | None
    version: str
    """Of this package."""


class Status:
    """Tells of one run on this node.

    Args:
        look: Returns where the training is; called from the status' own thread.
        directory: Where to; None stands for the run directory's.
    """

    def __init__(self, look: Callable[[], Progress], directory: Path | None = None) -> None:
        self._look = look
        self._directory = run_directory() / DIRECTORY if directory is None else directory
        self._reached: TrainerState | None = None
        self._news = threading.Event()
        self._thread: threading.Thread | None = None
        self._told = ""

    def start(self) -> None:
        """Begin to tell, on the first rank of a node and where somebody may listen."""
        boot, pod_uid = boot_id(), os.environ.get(POD_UID_VARIABLE) or None
        is_first = os.environ.get("LOCAL_RANK", "0") == "0"
        if not is_first or boot is None or not self._directory.is_dir():
            return
        prefix = re.sub(r"[^A-Za-z0-9._-]", "_", pod_uid or socket.gethostname())[:150]
        path = self._directory / f"t-{prefix}-{os.getpid()}.json"
        _sweep(self._directory, f"t-{prefix}-")
        self._thread = threading.Thread(
            target=self._tell,
            args=(Speaker(boot, pod_uid, version("reprieve")), path),
            name="reprieve-status",
            daemon=True,
        )
        self._thread.start()

    def reach(self, state: TrainerState) -> None:
        """Note, and tell at once, how far the trainer has come. Any thread may call it."""
        self._reached = state
        self._news.set()

    def nudge(self) -> None:
        """Tell at once. Any thread may call it."""
        self._news.set()

    def close(self) -> None:
        """Say the last word."""
        self.reach(TrainerState.EXITED)
        if self._thread is not None:
            self._thread.join(timeout=CLOSE_S)

    def _tell(self, me: Speaker, path: Path) -> None:
        while True:
            self._news.clear()
            state, progress = self._reached, self._look()
            if state is None:
                is_stopping = progress.stop_step is not None
                state = TrainerState.STOPPING if is_stopping else TrainerState.RUNNING
            try:
                _write(path, compose(me, state, progress, boottime_s()))
            except OSError as error:
                if str(error) != self._told:
                    log.warning("the watcher is not told how this trainer is: %s", error)
                self._told = str(error)
            if state is TrainerState.EXITED:
                return
            self._news.wait(BEAT_S)


def compose(me: Speaker, state: TrainerState, progress: Progress, heartbeat_s: float) -> bytes:
    """Return the file's content, schema 1."""
    document = {
        "schema": 1,
        "boot_id": me.boot_id,
        "pod_uid": me.pod_uid,
        "heartbeat_boottime_s": heartbeat_s,
        "state": state,
        "step": progress.step,
        "stop_step": progress.stop_step,
        "committed_step": progress.committed_step,
        "committed_at": _rfc3339(progress.committed_at),
        "stall_s": progress.stall_s,
        "commit_lag_s": progress.commit_lag_s,
        "step_s": progress.step_s,
        "save_every_steps": progress.save_every_steps,
        "attempt": progress.attempt,
        "noticed_at": _rfc3339(progress.noticed_at),
        "stopped_at": _rfc3339(progress.stopped_at),
        "verified_at": _rfc3339(progress.verified_at),
        "paid_gpu_s": progress.paid_gpu_s,
        "productive_gpu_s": progress.productive_gpu_s,
        "straggler_score": progress.straggler_score,
        "straggler_s": progress.straggler_s,
        "ranks": [_spent(one) for one in progress.ranks[:MOST_HERE]],
        "grace_s": progress.grace_s,
        "version": me.version,
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def _spent(rank: PhaseTimes) -> dict[str, float | None]:
    return {
        "steps": rank.steps,
        "data_s": None if rank.data_s is None else round(rank.data_s, 3),
        "compute_s": round(rank.compute_s, 3),
        "save_s": round(rank.save_s, 3),
    }


def _rfc3339(unix_s: float | None) -> str | None:
    if unix_s is None:
        return None
    at = datetime.fromtimestamp(unix_s, UTC)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _write(path: Path, content: bytes) -> None:
    """Put the file in place, whole; others can write to the directory too, and may have."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)  # of a start that was killed while it wrote
    descriptor = os.open(draft, _OPEN, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)


def _sweep(directory: Path, prefix: str) -> None:
    """Remove what earlier starts here, and pods that are gone, have left and nobody renews."""
    with suppress(OSError):
        for path in (*directory.glob("t-*.json"), *directory.glob(".t-*.json.new")):
            is_ours = path.name.removeprefix(".").startswith(prefix)
            with suppress(OSError):  # another user's, in a sticky directory
                if path.lstat().st_mtime < time.time() - (LEFTOVER_S if is_ours else GONE_S):
                    path.unlink()
