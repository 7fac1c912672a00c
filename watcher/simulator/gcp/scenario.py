"""A scenario on a VM of Compute Engine's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from watcher.simulator.changes import Change
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.changes import Nothing
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.stage import GcpStage
from watcher.simulator.scenario import Scenario
from watcher.simulator.values import (
    one_of,
    refuse_unknown,
    signed_seconds,
    text,
    whole,
    yes_or_no,
)

_LARGEST_ID = 2**64 - 1

INSTANCE_KEYS = (
    *("id", "name", "project_id", "project_number", "zone", "machine_type"),
    *("preemptible", "on_host_maintenance", "no_upcoming_maintenance", "cloud_ahead_s"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GcpScenario(Scenario):
    """One VM and its changes; ``nothing`` is how it says at first that no maintenance is coming."""

    identity: Identity = field(default_factory=Identity)
    nothing: Nothing = Nothing.EMPTY

    def stage(self, clock: ScenarioClock) -> GcpStage:
        """Make the VM, which nothing threatens, and its metadata server."""
        return GcpStage(clock, self.identity, self.nothing)


def read_scenario(instance: Mapping[str, object], changes: tuple[Change, ...]) -> GcpScenario:
    """Return the scenario of ``changes`` on the VM that a file describes.

    Raises:
        ScenarioError: A key of the instance is unknown or out of its range.
    """
    refuse_unknown("key of instance", instance, INSTANCE_KEYS)
    usual = Identity()

    def word(key: str, default: str) -> str:
        return text(key, instance.get(key, default))

    identity = Identity(
        id=whole("id", instance.get("id", usual.id), 1, _LARGEST_ID),
        name=word("name", usual.name),
        project_id=word("project_id", usual.project_id),
        project_number=whole(
            "project_number", instance.get("project_number", usual.project_number), 1, _LARGEST_ID
        ),
        zone=word("zone", usual.zone),
        machine_type=word("machine_type", usual.machine_type),
        is_preemptible=yes_or_no("preemptible", instance.get("preemptible", usual.is_preemptible)),
        on_host_maintenance=word("on_host_maintenance", usual.on_host_maintenance),
    )
    nothing = instance.get("no_upcoming_maintenance", Nothing.EMPTY)
    return GcpScenario(
        changes=changes,
        identity=identity,
        nothing=one_of("no_upcoming_maintenance", nothing, Nothing),
        cloud_ahead_s=signed_seconds("cloud_ahead_s", instance.get("cloud_ahead_s", 0)),
    )
