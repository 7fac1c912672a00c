"""What happens to the simulated instance, and when: a description that can't be nonsense."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from watcher.simulator.aws.changes import (
    MaintenanceEnded,
    MaintenanceScheduled,
    NoticeIssued,
    NoticeWithdrawn,
)
from watcher.simulator.aws.identity import DEFAULT_INSTANCE_ID, Identity
from watcher.simulator.aws.options import MAX_HOPS, Access, MetadataOptions
from watcher.simulator.aws.stage import AwsStage
from watcher.simulator.aws.tokens import MAX_TOKEN_TTL_S, Tokens
from watcher.simulator.aws.vocabulary import OPTION_FIELDS, options_modified
from watcher.simulator.changes import Change
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.scenario import Scenario
from watcher.simulator.values import ScenarioError, refuse_unknown, signed_seconds, text, whole

INSTANCE_KEYS = (
    *("id", "life_cycle", "token_ttl_cap_s"),
    *OPTION_FIELDS,
    *("hops", "cloud_ahead_s", "no_termination_time"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsScenario(Scenario):
    """One instance of EC2's and its changes.

    ``life_cycle`` is what EC2 calls the market the instance was bought on, an open set of words.
    ``hops`` is how far away from the service its clients are: 1 on the instance, 2 in a bridged
    container. ``no_termination_time`` is what `spot/termination-time` says while there is none,
    in place of a 404: EC2 may answer with a text that is no time.

    Raises:
        ScenarioError: A moment is out of range, a withdrawal or an event's end has nothing before
            it to end, the instance id is no text, or the cap on the tokens' life is out of EC2's
            range.
    """

    instance_id: str = DEFAULT_INSTANCE_ID
    life_cycle: str = "spot"
    token_ttl_cap_s: int = MAX_TOKEN_TTL_S
    options: MetadataOptions = field(default_factory=MetadataOptions)
    hops: int = 1
    no_termination_time: str | None = None

    def __post_init__(self) -> None:
        Scenario.__post_init__(self)
        whole("the cap on the life of tokens", self.token_ttl_cap_s, 1, MAX_TOKEN_TTL_S)
        text("the instance id", self.instance_id)
        is_marked, event_ids = False, set()
        for change in self.timeline():
            match change:
                case NoticeIssued():
                    is_marked = True
                case NoticeWithdrawn():
                    if not is_marked:
                        when = f"{change.at_s:g} s"
                        raise ScenarioError(f"no notice before {when}, so none to withdraw then")
                    is_marked = False
                case MaintenanceScheduled():
                    event_ids.add(change.event_id)
                case MaintenanceEnded():
                    if change.event_id not in event_ids:
                        what = f"maintenance {change.event_id} before {change.at_s:g} s"
                        raise ScenarioError(f"no {what}, so none to end then")
                    event_ids.remove(change.event_id)

    def timeline(self) -> list[Change]:
        """Return the changes in their order; of several at one moment a withdrawal comes first."""
        return sorted(
            self.changes, key=lambda one: (one.at_s, not isinstance(one, NoticeWithdrawn))
        )

    def stage(self, clock: ScenarioClock) -> AwsStage:
        """Make the instance, unmarked, and its metadata service."""
        identity = Identity(self.instance_id, self.life_cycle, self.no_termination_time)
        access = Access(self.options, self.hops)
        return AwsStage(clock, identity, access, Tokens(clock, self.token_ttl_cap_s))


def read_scenario(instance: Mapping[str, object], changes: tuple[Change, ...]) -> AwsScenario:
    """Return the scenario of ``changes`` on the instance that a file describes.

    Raises:
        ScenarioError: A key of the instance is unknown or out of its range, or it makes no sense.
    """
    refuse_unknown("key of instance", instance, INSTANCE_KEYS)
    cap_s = instance.get("token_ttl_cap_s", MAX_TOKEN_TTL_S)
    absent = instance.get("no_termination_time")
    return AwsScenario(
        changes=changes,
        instance_id=text("id", instance.get("id", DEFAULT_INSTANCE_ID)),
        life_cycle=text("life_cycle", instance.get("life_cycle", "spot")),
        token_ttl_cap_s=whole("token_ttl_cap_s", cap_s, 1, MAX_TOKEN_TTL_S),
        options=options_modified(0, instance).applied_to(MetadataOptions()),
        hops=whole("hops", instance.get("hops", 1), 1, MAX_HOPS),
        cloud_ahead_s=signed_seconds("cloud_ahead_s", instance.get("cloud_ahead_s", 0)),
        no_termination_time=None if absent is None else text("no_termination_time", absent),
    )
