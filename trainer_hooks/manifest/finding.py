"""What lint has to say about a line."""

from dataclasses import dataclass
from enum import StrEnum


class Weight(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Work is lost, or the job, or money; or the manifest is refused."""
    ADVICE = "advice"
    """It can be meant."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A defect: where, what it does, and what mends it."""

    line: int
    rule: str
    """Its name in docs/schedulers.md."""
    message: str
    mend: str
    weight: Weight = Weight.ERROR
