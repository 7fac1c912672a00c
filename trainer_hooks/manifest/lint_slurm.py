"""Defects of batch scripts for Slurm."""

import re
from collections.abc import Iterator

from trainer_hooks.manifest.command import Command, command_line, split
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.lint_command import swallowed, torchrun

DEFAULT_BEFORE_S = 60
"""How early --signal is where it does not say (sbatch(1), read 2026-11-30)."""

_OPTION = re.compile(r"^#SBATCH\s+(--?[a-z-]+)(?:[= ]\s*(\S+))?", re.MULTILINE)

_SIGNAL = re.compile(r"(?P<batch>[BR]*:)?(?:SIG)?(?P<name>[A-Z0-9]+)(?:@(?P<before>\d+))?")


def is_batch_script(text: str) -> bool:
    """Tell whether a file is a batch script of Slurm."""
    return text.startswith("#!") and "#SBATCH" in text


def lint_batch_script(text: str) -> Iterator[Finding]:
    """Name what is wrong in a batch script."""
    options = {
        match[1]: (_line(text, match.start()), match[2] or "") for match in _OPTION.finditer(text)
    }
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    command = _command(text)
    yield from _requeue(text, body, options)
    yield from _signal(text, options, command)
    if command.launcher == "torchrun":
        match = _SIGNAL.fullmatch(options.get("--signal", (1, ""))[1])
        known = {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT"} & {*re.findall(r"[A-Z_]+", body)}
        yield from torchrun(command, known, int((match and match["before"]) or DEFAULT_BEFORE_S))
    if command.launcher and (what := swallowed(body)) is not None:
        yield Finding(
            command.line,
            "exit-code-lost",
            f"{what}: a preempted job looks like one that is done",
            "keep srun's exit code, and requeue at 75",
        )
    killed = re.search(r"--kill-on-bad-exit(?!=0)|\bsrun\b[^\n]*\s-K\b", body)
    if killed:
        yield Finding(
            command.line,
            "peers-killed",
            "the first launcher that ends with 75 has the others killed while they commit",
            "srun --kill-on-bad-exit=0",
        )


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _command(text: str) -> Command:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("#") and re.search(
            r"reprieve-trainer launch|torch(run|\.dis)", line
        ):
            rest = "\n".join(text.splitlines()[number - 1 :])
            return command_line(split(rest), text, number)
    return Command((), None, text, 1)


def _requeue(text: str, body: str, options: dict[str, tuple[int, str]]) -> Iterator[Finding]:
    if "--no-requeue" in options or "--requeue" not in options:
        line = options.get("--no-requeue", (1, ""))[0]
        yield Finding(
            line,
            "no-requeue",
            "Slurm does not start the job again after a preemption or the loss of a node",
            "#SBATCH --requeue",
        )
    if not re.search(r"scontrol\s+requeue", body):
        yield Finding(
            _line(text, len(text.rstrip())),
            "exit-code-not-requeued",
            "a job that has stopped in time ends with 75, and nobody starts it again",
            'at the end: [ "$code" = 75 ] && scontrol requeue "$SLURM_JOB_ID"',
        )
    if "--open-mode" not in options:
        yield Finding(
            1,
            "output-overwritten",
            "a job that starts again overwrites what it has written before",
            "#SBATCH --open-mode=append",
            Weight.ADVICE,
        )


def _signal(text: str, options: dict[str, tuple[int, str]], command: Command) -> Iterator[Finding]:
    line, value = options.get("--signal", (1, ""))
    match = _SIGNAL.fullmatch(value)
    if match is None:
        yield Finding(
            line,
            "no-signal",
            "at its time limit the job has only Slurm's KillWait, 30 s by default",
            "#SBATCH --signal=TERM@120",
            Weight.ADVICE,
        )
        return
    if "B" in (match["batch"] or "") and not re.search(rf"trap\b[^\n]*\b{match['name']}\b", text):
        yield Finding(
            line,
            "signal-lost",
            "B: signals the batch script only, which has no trap for it: no step is told",
            "leave out B:, and the steps get it",
        )
    window = command.option("--window") or ""
    before = int(match["before"] or DEFAULT_BEFORE_S)
    if window.isascii() and window.isdigit() and int(window) > before:
        yield Finding(
            line,
            "window-too-long",
            f"the ranks count on {window} s, and the signal comes {before} s before the limit",
            f"--signal={match['name']}@{window}",
        )
