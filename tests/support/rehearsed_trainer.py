"""A trainer that only says how it is, as its status file would."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trainer_hooks.clock import boot_id, boottime_s
from trainer_hooks.phases import PhaseTimes
from trainer_hooks.status import DIRECTORY, Progress, Speaker, TrainerState, compose

_BEAT_S = 0.5


class RehearsedTrainer:
    """Writes one status file of a run directory, whenever it is told to.

    Args:
        run_dir: The run directory.
        number: Which start this is; each has a file of its own.
    """

    def __init__(self, run_dir: Path, number: int = 1) -> None:
        self._path = run_dir / DIRECTORY / f"t-rehearsed-{number}.json"
        self._began_at = time.time()

    def say(self, state: TrainerState = TrainerState.RUNNING, **figures: Any) -> None:  # noqa: ANN401 - whatever a file may hold
        """Say how it is: one that has just committed and was just verified, but for ``figures``."""
        boot = boot_id()
        assert boot is not None
        now = time.time()
        progress = Progress(
            step=500,
            committed_step=500,
            committed_at=now,
            stall_s=0.1,
            commit_lag_s=1.0,
            step_s=0.1,
            save_every_steps=100,
            attempt=2,
            verified_at=now,
            paid_gpu_s=1000.0,
            productive_gpu_s=900.0,
            ranks=[_spent(now - self._began_at, share) for share in (0.1, 0.4)],
        )
        me = Speaker(boot, "pod-1", version("reprieve"))
        said = json.loads(compose(me, state, progress, boottime_s()))
        self.write(json.dumps(said | figures).encode())

    @contextmanager
    def speaking(self) -> Iterator[dict[str, Any]]:
        """Say it twice a second in the block, with what is put into the yielded figures."""
        figures: dict[str, Any] = {}
        is_over = threading.Event()

        def speak() -> None:
            while not is_over.wait(_BEAT_S):
                self.say(**dict(figures))

        self.say()
        thread = threading.Thread(target=speak)
        thread.start()
        try:
            yield figures
        finally:
            is_over.set()
            thread.join()

    def write(self, content: bytes) -> None:
        """Put anything into its file."""
        draft = self._path.with_name(f".{self._path.name}.new")
        draft.write_bytes(content)
        draft.replace(self._path)

    def leave(self) -> None:
        """Take the file away."""
        self._path.unlink(missing_ok=True)


def _spent(seconds: float, data_share: float) -> PhaseTimes:
    """Return how a rank has spent so long, in steps of 0.1 s and a save of 1 s in every 100."""
    steps_s = seconds / 1.1
    return PhaseTimes(
        steps=int(steps_s / 0.1),
        data_s=data_share * steps_s,
        compute_s=(1.0 - data_share) * steps_s,
        save_s=seconds - steps_s,
    )
