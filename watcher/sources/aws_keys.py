"""What each metadata key's answers come to: which are news, and what takes a notice back.

One state a key, so that "no" to one question is never taken for "no" to another.
"""

from collections.abc import Callable, Iterable

from watcher.errors import SourceMalformed
from watcher.httpclient import Answer
from watcher.notice import Moment, Notice
from watcher.sources.aws_imds_events import parse_scheduled_events, parse_target_lifecycle_state
from watcher.sources.aws_imds_spot import (
    parse_instance_action,
    parse_rebalance,
    parse_termination_time,
)
from watcher.sources.aws_instance import AwsInstance
from watcher.sources.aws_schedule import Schedule
from watcher.sources.lane import NOTHING, Sight
from watcher.sources.level import GRACE_S, Level


class InstanceAction:
    """``spot/instance-action``: a notice while it is there."""

    def __init__(self, instance: AwsInstance, standing: Notice | None) -> None:
        self.shows_notice = False
        self._level = Level(standing)
        self._instance = instance
        self._fallback_shows_notice = False

    def answered(self, answer: Answer, now: Moment) -> Sight:
        """Take in an answer; 404 counts as an absence unless the older key shows a time."""
        if answer.status == 404:
            self.shows_notice = False
            return Sight("absent", [] if self._fallback_shows_notice else self._level.absent(now))
        notice = parse_instance_action(answer.body, now, self._instance.instance_id)
        self.shows_notice = True
        return Sight("present", self._level.present(notice))

    def fallback(self, notice: Notice | None) -> Sight:
        """Take in what the older key says, which counts only where this one shows nothing."""
        self._fallback_shows_notice = notice is not None
        if notice is None or self.shows_notice:
            return NOTHING
        return Sight("present", self._level.present(notice))

    def unknown(self) -> None:
        """Take in a failed fetch."""
        self._level.unknown()


class TerminationTime:
    """``spot/termination-time``: the older key, for servers that have only that.

    A time that lies further back than a notice is kept is what EC2 leaves there when it has failed
    to terminate the instance.
    """

    def __init__(self, instance: AwsInstance, newer: InstanceAction) -> None:
        self._instance = instance
        self._newer = newer

    def answered(self, answer: Answer, now: Moment) -> Sight:
        """Take in an answer; 404 and a text that is no time say nothing."""
        notice = None
        if answer.status == 200:
            notice = parse_termination_time(answer.body, now, self._instance.instance_id)
        if notice and notice.deadline and notice.deadline.boottime_s < now.boottime_s - GRACE_S:
            notice = None
        return self._newer.fallback(notice)

    def unknown(self) -> None:
        """Take in a failed fetch: what was last known stays."""


class Rebalance:
    """``events/recommendations/rebalance``: advice while it is there."""

    def __init__(self, instance: AwsInstance, standing: Notice | None) -> None:
        self._instance = instance
        self._level = Level(standing)

    def answered(self, answer: Answer, now: Moment) -> Sight:
        """Take in an answer."""
        if answer.status == 404:
            return Sight("absent", self._level.absent(now))
        notice = parse_rebalance(answer.body, now, self._instance.instance_id)
        return Sight("present", self._level.present(notice))

    def unknown(self) -> None:
        """Take in a failed fetch."""
        self._level.unknown()


class TargetLifecycleState:
    """``autoscaling/target-lifecycle-state``: a notice while the target is an end.

    Another state is the group's own word that the instance stays; a 404 is only an absence.
    """

    def __init__(self, instance: AwsInstance, standing: Notice | None) -> None:
        self._instance = instance
        self._level = Level(standing)

    def answered(self, answer: Answer, now: Moment) -> Sight:
        """Take in an answer."""
        if answer.status == 404:
            return Sight("absent", self._level.absent(now))
        notice = parse_target_lifecycle_state(answer.body, now, self._instance.instance_id)
        if notice is None:
            return Sight("absent", self._level.over())
        return Sight("present", self._level.present(notice))

    def unknown(self) -> None:
        """Take in a failed fetch."""
        self._level.unknown()


class ScheduledEvents:
    """``events/maintenance/scheduled``: a notice for each event in the list that is not over.

    EC2 answers ``[]`` where there is none. Others answer 404, which means the same.
    """

    def __init__(self, instance: AwsInstance, standing: Iterable[Notice]) -> None:
        self._instance = instance
        self._schedule = Schedule(standing)

    def answered(self, answer: Answer, now: Moment) -> Sight:
        """Take in an answer."""
        body = b"[]" if answer.status == 404 else answer.body
        shown = parse_scheduled_events(body, now, self._instance.instance_id)
        return Sight("present" if shown else "absent", self._schedule.seen(shown))

    def unknown(self) -> None:
        """Take in a failed fetch."""
        self._schedule.unknown()


class Fact:
    """A key that says something about the instance, and nothing about its end."""

    def __init__(self, learn: Callable[[bytes], None]) -> None:
        self._learn = learn

    def answered(self, answer: Answer, _now: Moment) -> Sight:
        """Take in an answer.

        Raises:
            SourceMalformed: It does not say what it should; it is asked for again.
        """
        if answer.status != 200:
            raise SourceMalformed(f"HTTP {answer.status} for a key that every instance has")
        self._learn(answer.body)
        return NOTHING

    def unknown(self) -> None:
        """Take in a failed fetch: nothing was learnt."""
