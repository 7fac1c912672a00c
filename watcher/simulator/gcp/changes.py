"""What can happen to a VM of Compute Engine's and its metadata server, each with its moment.

:mod:`watcher.simulator.gcp.vocabulary` reads these from words.
"""

from dataclasses import dataclass
from enum import StrEnum

from watcher.simulator.changes import Change


class Nothing(StrEnum):
    """The ways in which `upcoming-maintenance` has been seen to say that there is none."""

    EMPTY = "empty"  # 200 {}
    TEXT = "text"  # 200 NONE
    JSON = "json"  # 200 "NONE"
    ERROR = "error"  # 503 and an object with an error, before the first notification
    MISSING = "missing"  # 404, on machine types that do not have it


class Style(StrEnum):
    """How the names in `upcoming-maintenance` are spelt: the documentation's way, or the API's."""

    SNAKE = "snake"
    CAMEL = "camel"


@dataclass(frozen=True, kw_only=True, slots=True)
class PreemptedSet(Change):
    """`preempted` says ``value`` from now on: an open set of words."""

    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceEventSet(Change):
    """`maintenance-event` says ``value`` from now on, if it was read since it last said NONE."""

    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceUpcoming(Change):
    """A maintenance of the host is announced, or the one announced is another now.

    A time that is None is left out.
    """

    start_s: float
    end_s: float | None
    latest_start_s: float | None
    status: str
    kind: str
    reasons: tuple[str, ...]
    can_reschedule: bool
    style: Style
    is_wrapped: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class NoMaintenanceUpcoming(Change):
    """No maintenance is announced any more, and that is said in this way."""

    said_as: Nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class EtagsRenewed(Change):
    """Every value has a new ETag, and is what it was."""
