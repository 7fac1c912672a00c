"""Defects of batch scripts for Slurm."""

import re
from collections.abc import Iterator, Sequence

from trainer_hooks.manifest.command import Command, command_line, split, whole
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.lint_command import swallowed, torchrun

DEFAULT_BEFORE_S = 60
"""How early --signal is where it does not say (sbatch(1), read 2026-11-30)."""

_OPTION = re.compile(r"#SBATCH[ \t]+(--?[a-z-]+)(?:[= ][ \t]*(\S+))?")

_SIGNAL = re.compile(r"(?P<batch>[BR]*:)?(?:SIG)?(?P<name>[A-Z0-9]+)(?:@(?P<before>\d{1,6}))?")


def is_batch_script(text: str) -> bool:
    """Tell whether a file is a batch script of Slurm."""
    return text.startswith("#!") and "#SBATCH" in text


def lint_batch_script(text: str) -> Iterator[Finding]:
    """Name what is wrong in a batch script."""
    lines = text.splitlines()
    options = {
        match[1]: (number, match[2] or "")
        for number, line in enumerate(lines, 1)
        if (match := _OPTION.match(line)) is not None
    }
    code = [line for line in lines if not line.startswith("#")]
    body = "\n".join(code)
    command = _command(lines, text)
    yield from _requeue(len(text.rstrip().splitlines()), body, options)
    yield from _signal(code, options, command)
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
    if "-K" in body.split() or re.search(r"--kill-on-bad-exit(?!=0)", body):
        yield Finding(
            command.line,
            "peers-killed",
            "the first launcher that ends with 75 has the others killed while they commit",
            "srun --kill-on-bad-exit=0",
        )


def _command(lines: Sequence[str], text: str) -> Command:
    for number, line in enumerate(lines, 1):
        if not line.lstrip().startswith("#") and re.search(
            r"reprieve-trainer launch|torch(run|\.dis)", line
        ):
            return command_line(split("\n".join(lines[number - 1 :])), text, number)
    return Command((), None, text, 1)


def _requeue(last: int, body: str, options: dict[str, tuple[int, str]]) -> Iterator[Finding]:
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
            last,
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


def _signal(
    code: Sequence[str], options: dict[str, tuple[int, str]], command: Command
) -> Iterator[Finding]:
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
    traps = [line.split() for line in code if "trap" in line]
    if "B" in (match["batch"] or "") and not any(match["name"] in words for words in traps):
        yield Finding(
            line,
            "signal-lost",
            "B: signals the batch script only, which has no trap for it: no step is told",
            "leave out B:, and the steps get it",
        )
    window = whole(command.option("--window"))
    before = int(match["before"] or DEFAULT_BEFORE_S)
    if window is not None and window > before:
        yield Finding(
            line,
            "window-too-long",
            f"the ranks count on {window} s, and the signal comes {before} s before the limit",
            f"--signal={match['name']}@{window}",
        )
