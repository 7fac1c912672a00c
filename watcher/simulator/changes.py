"""What can happen in any scenario: the base of every change, and those about the requests.

Moments (``at_s``) are seconds after the simulator is ready; every other time is relative to the
change's own moment. Each cloud adds the changes that only it knows.
"""

from dataclasses import dataclass

from watcher.simulator.faults import Fault


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Something that happens at a moment."""

    at_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultsArmed(Change):
    """Faults come in force, in this order."""

    faults: tuple[Fault, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultsLifted(Change):
    """All faults end."""
