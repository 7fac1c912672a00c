"""What happens to the simulated instance, and when: a description that can't be nonsense."""

import math
from dataclasses import dataclass
from enum import StrEnum

LONGEST_S = 366 * 86_400
"""Longer times than a year are mistakes, and would leave the range of a date."""

MAX_TOKEN_TTL_S = 21_600
"""Longest life of a token, in seconds. Source: EC2 user guide, IMDSv2 (read 2026-11-30)."""

SPOT_WINDOW_S = 120.0
"""Seconds between a Spot notice and its `time`. Source: EC2 user guide, Spot interruption
notices (read 2026-11-30): two minutes, best effort."""

HIBERNATE_WINDOW_S = 0.0
"""Hibernation starts with the notice. Source: EC2 user guide, hibernation (read 2026-11-30)."""


DEFAULT_INSTANCE_ID = "i-0123456789abcdef0"


class ScenarioError(ValueError):
    """Raised when a scenario or a fault contradicts itself; the message is one line for a user."""


class SpotAction(StrEnum):
    """What EC2 does to the instance at the end of the window."""

    TERMINATE = "terminate"
    STOP = "stop"
    HIBERNATE = "hibernate"

    @property
    def window_s(self) -> float:
        """Seconds of warning that EC2 aims at for this action."""
        return HIBERNATE_WINDOW_S if self is SpotAction.HIBERNATE else SPOT_WINDOW_S


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeIssued:
    """From ``at_s`` on the instance is marked: ``action`` will follow after ``window_s``."""

    at_s: float
    action: SpotAction
    window_s: float

    def __post_init__(self) -> None:
        seconds("the notice's moment", self.at_s)
        seconds("the notice's window", self.window_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeWithdrawn:
    """From ``at_s`` on the instance is no longer marked."""

    at_s: float

    def __post_init__(self) -> None:
        seconds("the withdrawal's moment", self.at_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class RebalanceRecommended:
    """From ``at_s`` on the instance is at elevated risk; EC2 never takes that back."""

    at_s: float

    def __post_init__(self) -> None:
        seconds("the rebalance recommendation's moment", self.at_s)


Change = NoticeIssued | NoticeWithdrawn | RebalanceRecommended


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One instance and its changes, in seconds after the simulator is ready.

    Raises:
        ScenarioError: A withdrawal has no notice before it, the instance id is no text, or the
            cap on the tokens' life is out of EC2's range.
    """

    changes: tuple[Change, ...] = ()
    instance_id: str = DEFAULT_INSTANCE_ID
    token_ttl_cap_s: int = MAX_TOKEN_TTL_S

    def __post_init__(self) -> None:
        if not 1 <= self.token_ttl_cap_s <= MAX_TOKEN_TTL_S:
            message = f"tokens live 1 to {MAX_TOKEN_TTL_S} s, not {self.token_ttl_cap_s}"
            raise ScenarioError(message)
        if not self.instance_id.isprintable() or not self.instance_id.strip():
            raise ScenarioError(f"the instance id must be printable text, not {self.instance_id!r}")
        is_marked = False
        for change in self.timeline():
            if isinstance(change, NoticeWithdrawn) and not is_marked:
                raise ScenarioError(f"no notice before {change.at_s:g} s, so none to withdraw then")
            if not isinstance(change, RebalanceRecommended):
                is_marked = isinstance(change, NoticeIssued)

    def timeline(self) -> list[Change]:
        """Return the changes in their order; of several at one moment a withdrawal comes first."""
        return sorted(
            self.changes, key=lambda one: (one.at_s, not isinstance(one, NoticeWithdrawn))
        )


def seconds(what: str, value: object) -> float:
    """Return ``value`` as seconds.

    Raises:
        ScenarioError: It is not a number from 0 to a year.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScenarioError(f"{what} must be a number of seconds, not {value!r}")
    if not math.isfinite(value) or not 0 <= value <= LONGEST_S:
        raise ScenarioError(f"{what} must be 0 to {LONGEST_S} s, not {value}")
    return float(value)


def spot_action(value: object) -> SpotAction:
    """Return the action of that name.

    Raises:
        ScenarioError: EC2 has no such action.
    """
    try:
        return SpotAction(str(value))
    except ValueError as error:
        message = f"the action must be one of {', '.join(SpotAction)}, not {value!r}"
        raise ScenarioError(message) from error
