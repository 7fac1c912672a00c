"""What a launch leaves behind: the report of its ranks, and when its log says they committed."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

_COMMITTED = re.compile(r"^(\S+ \S+) \S+ committed step=(\d+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How the ranks of a launch have ended, by rank."""

    steps: tuple[int, ...]
    """Steps finished."""
    committed_steps: tuple[int | None, ...]
    """The newest checkpoint that each knows of."""
    instants: tuple[Mapping[str, object], ...]
    """What happened when, in seconds of Unix time."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what ``launch --report`` has written.

        Raises:
            ValueError: It is not there, or not such a report, or a rank is missing.
        """
        try:
            results = json.loads(path.read_text(encoding="utf-8"))["results"]
            return cls(
                steps=tuple(int(result["step"]) for result in results),
                committed_steps=tuple(result["committed_step"] for result in results),
                instants=tuple(dict(result["instants"]) for result in results),
            )
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ValueError(f"{path} is no report of all ranks: {error!r}") from error

    def last(self, name: str) -> float | None:
        """Return when the last rank came to an instant; None unless each has told its own."""
        told = [at for of_rank in self.instants if isinstance(at := of_rank.get(name), float)]
        return max(told) if told and len(told) == len(self.instants) else None


def committed_at(log: str, step: int, ranks: int) -> float | None:
    """Return when the last rank knew of a commit, in Unix time; None if not all have said it.

    Args:
        log: Of a launch, with its times in UTC.
        step: Of the checkpoint.
        ranks: How many ranks there are.
    """
    told = [
        datetime.strptime(f"{when}000 +0000", "%Y-%m-%d %H:%M:%S,%f %z").timestamp()
        for when, of_step in _COMMITTED.findall(log)
        if int(of_step) == step
    ]
    return max(told) if len(told) == ranks else None
