"""What ``verify-resume`` is asked to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from trainer_hooks.errors import ConfigError

DIRECTORY = "{dir}"
"""Stands in the command line for a directory of each run's own."""


class By(StrEnum):
    """How a run is interrupted."""

    KILL = "kill"
    """All its processes at once, by SIGKILL: the machine is gone."""
    STOP = "stop"
    """By SIGTERM to the command: it has to leave with 75."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One check."""

    command: Sequence[str]
    out: Path
    """A directory that is not there yet, or is empty."""
    at: Sequence[int] = ()
    """Steps at which the run is interrupted; empty: at equal parts of it."""
    times: int = 2
    """How often, where ``at`` does not say."""
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For each other word in braces, what stands for it in each start; the unbroken run has the
    first."""
    by: By = By.KILL
    tolerance: float | None = None
    """Largest relative difference of losses that counts as none; None compares every bit."""
    limit_s: float = 600.0
    """How long a start may take."""

    @property
    def starts(self) -> int:
        """How often the interrupted run is started."""
        return 1 + (len(self.at) or self.times)

    def check(self) -> None:
        """See that it makes sense.

        Raises:
            ConfigError: It does not; says what to change.
        """
        if not any(DIRECTORY in word for word in self.command):
            raise ConfigError(
                f"each run needs a checkpoint directory of its own: write {DIRECTORY} where the "
                "command line names it"
            )
        if list(self.at) != sorted(set(self.at)) or any(step < 1 for step in self.at):
            raise ConfigError("--at needs steps that grow, from 1 on")
        for name, values in self.values.items():
            if len(values) != self.starts:
                raise ConfigError(
                    f"--set {name} has {len(values)} values, and there are {self.starts} starts: "
                    "one before and one after each interruption"
                )
            if not any(_braced(name) in word for word in self.command):
                raise ConfigError(f"--set {name}: there is no {_braced(name)} in the command line")
        if self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
            raise ConfigError(f"{self.out} is not empty; choose another with --out")

    def command_line(self, directory: Path, start: int) -> list[str]:
        """Return the command line of a start, counted from 0, of the run in a directory."""
        meanings = {DIRECTORY: str(directory)}
        meanings |= {_braced(name): values[start] for name, values in self.values.items()}
        return [_filled_in(word, meanings) for word in self.command]

    def step_of(self, interruption: int, until: int) -> int:
        """Return the step at which an interruption comes, counted from 0.

        Args:
            interruption: Which one.
            until: How many steps the run has.
        """
        if self.at:
            return self.at[interruption]
        return max(1, until * (interruption + 1) // self.starts)


def _braced(name: str) -> str:
    return f"{{{name}}}"


def _filled_in(word: str, meanings: Mapping[str, str]) -> str:
    for name, meaning in meanings.items():
        word = word.replace(name, meaning)
    return word
