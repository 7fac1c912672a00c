"""What happens to the simulated instance, and when: a description that can't be nonsense."""

from dataclasses import dataclass, field

from watcher.simulator.changes import (
    Change,
    MaintenanceEnded,
    MaintenanceScheduled,
    NoticeIssued,
    NoticeWithdrawn,
)
from watcher.simulator.options import MetadataOptions
from watcher.simulator.values import ScenarioError, seconds, text, whole

MAX_TOKEN_TTL_S = 21_600
"""Longest life of a token, in seconds. Source: EC2 user guide, IMDSv2 (read 2026-11-30)."""

DEFAULT_INSTANCE_ID = "i-0123456789abcdef0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One instance and its changes, in seconds after the simulator is ready.

    ``life_cycle`` is what EC2 calls the market the instance was bought on, an open set of words.
    ``hops`` is how far away from the service its clients are: 1 on the instance, 2 in a bridged
    container. ``cloud_ahead_s`` is how far EC2's clock is ahead of ours.
    ``no_termination_time`` is what `spot/termination-time` says while there is none, in place of
    a 404: EC2 may answer with a text that is no time.

    Raises:
        ScenarioError: A moment is out of range, a withdrawal or an event's end has nothing before
            it to end, the instance id is no text, or the cap on the tokens' life is out of EC2's
            range.
    """

    changes: tuple[Change, ...] = ()
    instance_id: str = DEFAULT_INSTANCE_ID
    life_cycle: str = "spot"
    token_ttl_cap_s: int = MAX_TOKEN_TTL_S
    options: MetadataOptions = field(default_factory=MetadataOptions)
    hops: int = 1
    cloud_ahead_s: float = 0.0
    no_termination_time: str | None = None

    def __post_init__(self) -> None:
        whole("the cap on the life of tokens", self.token_ttl_cap_s, 1, MAX_TOKEN_TTL_S)
        text("the instance id", self.instance_id)
        is_marked, event_ids = False, set()
        for change in self.timeline():
            seconds("the moment of a change", change.at_s)
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
