"""What a scenario is to the server: changes with their moments, and the stage they happen on."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from watcher.simulator.changes import Change
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.values import seconds
from watcher.simulator.vocabulary import Words


class Stage(Protocol):
    """One cloud's instance and the service that tells of it, as they are at this moment."""

    @property
    def words(self) -> Words:
        """Every change that can happen on it, by its name."""

    @property
    def root(self) -> str:
        """What the paths of this cloud's metadata service begin with."""

    def routes(self) -> list[web.RouteDef]:
        """List the routes; the last one takes every path that the others leave."""

    def refuse(self, change: Change) -> None:
        """Pass if ``change``, which is one of this cloud's own, can happen now.

        Raises:
            ScenarioError: There is nothing for it to end.
        """

    def apply(self, change: Change) -> None:
        """Let ``change`` happen; one that finds nothing to end changes nothing."""

    def in_force(self) -> Mapping[str, object]:
        """Return what the cloud says now, as whoever made a change by hand wants to see it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario(ABC):
    """One instance and its changes, in seconds after the simulator is ready.

    ``cloud_ahead_s`` is how far the cloud's clock is ahead of ours.

    Raises:
        ScenarioError: A moment is out of range.
    """

    changes: tuple[Change, ...] = ()
    cloud_ahead_s: float = 0.0

    def __post_init__(self) -> None:
        for change in self.changes:
            seconds("the moment of a change", change.at_s)

    @abstractmethod
    def stage(self, clock: ScenarioClock) -> Stage:
        """Make the instance on which this is played, as it is at second 0."""

    def timeline(self) -> list[Change]:
        """Return the changes in their order."""
        return sorted(self.changes, key=lambda one: one.at_s)
