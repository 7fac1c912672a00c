"""A job: two ranks of the example under ``reprieve-trainer launch``."""

import json
import sysconfig
from pathlib import Path

from rehearsal.report import Report, committed_at
from trainer_hooks import latest_committed
from trainer_hooks.resume_check.comparison import Doing, read_doings
from trainer_hooks.resume_check.stage import Child, Failed, Stage

RANKS = 2
SAVE_EVERY = 15
MIN_STEP_S = 0.1
"""A step takes a third of that by itself; the run has to outlast the watcher's next poll."""

_SCRIPT = Path(__file__).parents[1] / "train_gpt.py"
_LAUNCHER = Path(sysconfig.get_path("scripts")) / "reprieve-trainer"
_TAIL_BYTES = 4096
"""Some fifteen records of a step."""


class Job:
    """One training run, launched as often as it takes, each time with the same command line.

    Args:
        stage: Where its processes run.
        directory: Gets logs, report and checkpoints; its name is the run's.
        steps: Where the run ends.
    """

    def __init__(self, stage: Stage, directory: Path, steps: int) -> None:
        self._stage = stage
        self._directory = directory
        self._launches = 0
        self._report = directory / "report.json"
        self._checkpoints = directory / "checkpoints"
        self._steps_dir = directory / "steps"
        self._steps_dir.mkdir(parents=True)
        self.name = directory.name
        self.command = [str(_LAUNCHER), "launch", "--report", str(self._report)]
        self.command += ["--standalone", f"--nproc-per-node={RANKS}", str(_SCRIPT)]
        self.command += ["--checkpoint-dir", str(self._checkpoints), "--steps", str(steps)]
        self.command += ["--save-every", str(SAVE_EVERY), "--log-dir", str(self._steps_dir)]
        # So short a run would be done before its node is taken, and go on to its end.
        self.command += ["--min-step-s", str(MIN_STEP_S), "--always-stop"]

    @property
    def log(self) -> Path:
        """Where the newest launch writes."""
        return self._directory / f"launch-{self._launches}.log"

    def launch(self, run_dir: Path, *, ends_with: int) -> Child:
        """Start the command on the node that has this run directory."""
        self._launches += 1
        variables = {
            "REPRIEVE_RUN_DIR": str(run_dir),
            "CUDA_VISIBLE_DEVICES": "",  # two ranks would need two GPUs
            "OMP_NUM_THREADS": "1",  # the order of sums depends on it, and runs are compared
            "TZ": "UTC",  # logs tell the local time, which is ambiguous for an hour a year
        }
        return self._stage.start(
            f"the {self.name} run",
            self.command,
            self.log,
            variables=variables,
            ends_with=ends_with,
        )

    def steps_done(self) -> int:
        """Return how many steps rank 0 has finished; a line that is being written doesn't count."""
        try:
            with (self._steps_dir / "rank_0.jsonl").open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
                lines = file.read().split(b"\n")[:-1]
        except FileNotFoundError:
            return 0
        return 1 + int(json.loads(lines[-1])["step"]) if lines else 0

    def doings(self) -> list[list[Doing]]:
        """Return what each rank has done, in all launches together.

        Raises:
            Failed: A rank's record cannot be read.
        """
        paths = [self._steps_dir / f"rank_{rank}.jsonl" for rank in range(RANKS)]
        try:
            return [read_doings(path) for path in paths]
        except ValueError as error:
            raise Failed(str(error), self.log) from error

    def report(self) -> Report:
        """Return what the newest launch, which has ended, says of its ranks.

        Raises:
            Failed: It says nothing that can be read.
        """
        try:
            return Report.read(self._report)
        except ValueError as error:
            raise Failed(str(error), self.log) from error

    def newest_checkpoint(self) -> int | None:
        """Return the step of the newest committed checkpoint on disk."""
        checkpoint = latest_committed(self._checkpoints)
        return None if checkpoint is None else checkpoint.step

    def committed_at(self, step: int) -> float | None:
        """Return when the last rank of the newest launch knew of a commit, if its log says so."""
        return committed_at(self.log.read_text(encoding="utf-8"), step, RANKS)
