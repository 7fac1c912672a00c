"""Ranks of a test as forked processes: a world starts in a tenth of a second."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import torch
import torch._dynamo  # each forked rank would import it at its first optimizer step, for 0.6 s
import torch.distributed as dist

from tests.support.ports import quiet_port


@dataclass(kw_only=True)
class Job:
    """Running ranks. ``wait`` ends them all, whatever they do."""

    pids: list[int]
    logs: list[Path]
    codes: dict[int, int] = field(default_factory=dict)

    def wait(self, timeout_s: float = 60.0) -> list[int]:
        """Return the exit codes by rank, -n for death by signal n; SIGKILL who overstays."""
        end = time.monotonic() + timeout_s
        while len(self.codes) < len(self.pids):
            late = time.monotonic() > end
            for rank, pid in enumerate(self.pids):
                if rank not in self.codes:
                    self._reap(rank, pid, kill=late)
            time.sleep(0.01)
        return [self.codes[rank] for rank in range(len(self.pids))]

    def _reap(self, rank: int, pid: int, *, kill: bool) -> None:
        if kill:
            sys.stderr.write(f"rank {rank} hangs:\n{self.log(rank)}\n")
            os.kill(pid, signal.SIGKILL)
        found, status = os.waitpid(pid, 0 if kill else os.WNOHANG)
        if found:
            self.codes[rank] = os.waitstatus_to_exitcode(status)

    def log(self, rank: int) -> str:
        """Return what a rank has written to stdout and stderr."""
        return self.logs[rank].read_text(encoding="utf-8", errors="replace")


def start_ranks(size: int, main: Callable[[int], None], directory: Path) -> Job:
    """Fork ``size`` ranks that run ``main(rank)`` in one gloo world."""
    directory.mkdir(parents=True, exist_ok=True)
    port = quiet_port()
    logs = [directory / f"rank_{rank}_{port}.txt" for rank in range(size)]
    pids = []
    for rank, log in enumerate(logs):
        pid = os.fork()
        if pid == 0:
            _run(rank, size, port, main, log)
        pids.append(pid)
    return Job(pids=pids, logs=logs)


def _run(rank: int, size: int, port: int, main: Callable[[int], None], log: Path) -> NoReturn:
    """Be a rank; never come back into the test."""
    code = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout = sys.stderr = os.fdopen(descriptor, "w", buffering=1)
        os.environ |= {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        main(rank)
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever it is belongs into the log
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)
