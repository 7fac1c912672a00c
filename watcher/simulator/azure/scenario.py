"""What happens to the simulated machine, and when: a description that can't be nonsense."""

from collections.abc import Mapping
from dataclasses import dataclass

from watcher.simulator.azure.changes import EventEnded, EventScheduled, EventStarted
from watcher.simulator.azure.events import Events
from watcher.simulator.azure.machine import DEFAULT_NAME, Machine
from watcher.simulator.azure.stage import AzureStage
from watcher.simulator.changes import Change
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.scenario import Scenario
from watcher.simulator.values import ScenarioError, refuse_unknown, seconds, signed_seconds, text

INSTANCE_KEYS = ("name", "first_answer_s", "cloud_ahead_s")


@dataclass(frozen=True, kw_only=True, slots=True)
class AzureScenario(Scenario):
    """One machine and its changes, in seconds after the simulator is ready.

    ``first_answer_s`` is how long the first answer about events takes: nothing by default, up to
    two minutes in Azure.

    Raises:
        ScenarioError: A moment is out of range, or an event starts or ends that is not there.
    """

    vm_name: str = DEFAULT_NAME
    first_answer_s: float = 0.0

    def __post_init__(self) -> None:
        Scenario.__post_init__(self)
        event_ids: set[str] = set()
        for change in self.timeline():
            match change:
                case EventScheduled():
                    event_ids.add(change.event_id.lower())
                case EventStarted() | EventEnded() if change.event_id.lower() not in event_ids:
                    what = f"no event {change.event_id} before {change.at_s:g} s"
                    raise ScenarioError(f"{what}, so none to start or to end then")
                case EventEnded():
                    event_ids.remove(change.event_id.lower())

    def stage(self, clock: ScenarioClock) -> AzureStage:
        """Make the machine, without events, and its metadata service."""
        machine = Machine(clock, self.vm_name, self.first_answer_s)
        return AzureStage(machine, Events(clock, self.vm_name))


def read_scenario(instance: Mapping[str, object], changes: tuple[Change, ...]) -> AzureScenario:
    """Return the scenario of ``changes`` on the machine that a file describes.

    Raises:
        ScenarioError: A key of the instance is unknown or out of its range, or it makes no sense.
    """
    refuse_unknown("key of instance", instance, INSTANCE_KEYS)
    return AzureScenario(
        changes=changes,
        vm_name=text("name", instance.get("name", DEFAULT_NAME)),
        first_answer_s=seconds("first_answer_s", instance.get("first_answer_s", 0)),
        cloud_ahead_s=signed_seconds("cloud_ahead_s", instance.get("cloud_ahead_s", 0)),
    )
