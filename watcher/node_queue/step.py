"""One change that is to be made at AWS, and what has come of it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What has come of a change."""

    DONE = "done"
    NO_QUEUE = "no_queue"
    """The queue that was to go had gone already."""


@dataclass(frozen=True, slots=True)
class Step:
    """A change: what it is, for people, and what makes it.

    ``make`` blocks, and raises AwsCallFailed.
    """

    what: str
    make: Callable[[], Outcome]
