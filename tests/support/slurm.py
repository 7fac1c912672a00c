"""A Slurm of one node: stand-ins for ``srun`` and ``scontrol``, and a batch script under them."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

_SRUN = f"""\
#!{sys.executable}
# As srun(1): runs the command on each node, hands signals on to it, exits with its code.
import os, signal, subprocess, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
words = sys.argv[1:]
while words[0].startswith("--"):
    print(words.pop(0), file=open(os.environ["SLURM_LOG"] + "/srun", "a"))
task = subprocess.Popen(words, env=dict(os.environ, SLURM_NODEID="0"))
signal.signal(signal.SIGTERM, lambda *_: task.send_signal(signal.SIGTERM))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
code = task.wait()
sys.exit(code if code >= 0 else 128 - code)
"""

_SCONTROL = """\
#!/bin/bash
echo "$@" >> "$SLURM_LOG/scontrol"
case $1 in
  show) printf 'node-a\\nnode-b\\n' ;;
  requeue) exit "${REQUEUE_FAILS:-0}" ;;
esac
"""

_TRAINER = f"""\
#!{sys.executable}
import os, pathlib, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
log = pathlib.Path(os.environ["SLURM_LOG"])
(log / "trainer").write_text("".join(word + "\\n" for word in sys.argv[1:]))
(log / "started").touch()
if os.environ["TRAINER_EXITS"]:
    sys.exit(int(os.environ["TRAINER_EXITS"]))
signal.sigwait([signal.SIGTERM])
(log / "signals").write_text("TERM\\n")
sys.exit(75)
"""
"""Notes its words, and ends with a code or, at a signal, as the launcher does."""


@dataclass(frozen=True, slots=True)
class Slurm:
    """Where the stand-ins are, and what they have noted."""

    directory: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @classmethod
    def at(cls, directory: Path) -> "Slurm":
        """Install it."""
        (directory / "bin").mkdir()
        for name, text in (
            ("srun", _SRUN),
            ("scontrol", _SCONTROL),
            ("reprieve-trainer", _TRAINER),
        ):
            program = directory / "bin" / name
            program.write_text(text)
            program.chmod(0o755)
        return cls(directory)

    def start(self, script: str, **environment: str) -> subprocess.Popen[str]:
        """Start a batch script as slurmd does: with the job's variables, and nothing else."""
        path = self.directory / "batch.sh"
        path.write_text(script)
        path.chmod(0o755)
        batch = subprocess.Popen(
            [path],
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                "PATH": f"{self.directory}/bin:/usr/bin:/bin",
                "SLURM_LOG": str(self.directory),
                "SLURM_JOB_ID": "4711",
                "SLURM_JOB_NODELIST": "node-[a-b]",
                "TRAINER_EXITS": "",
                **environment,
            },
        )
        self.started.append(batch)
        return batch

    def close(self) -> None:
        """Kill what a failed test has left running."""
        for batch in self.started:
            if batch.poll() is None:
                os.killpg(batch.pid, signal.SIGKILL)
                batch.communicate()

    def noted(self, name: str) -> list[str]:
        """Return the lines that a stand-in has written."""
        path = self.directory / name
        return path.read_text().splitlines() if path.exists() else []
