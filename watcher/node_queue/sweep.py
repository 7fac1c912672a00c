"""Finds what ended instances have left: queues, and subscriptions that count towards the limit."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from watcher.aws.ec2 import Ec2
from watcher.node_queue.queues import NodeQueues
from watcher.node_queue.step import Step

YOUNG_S = 3600.0
"""Age in seconds below which a queue is left alone: EC2 may not show an instance at once that has
just been started, and has made its queue already."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What removes the queues and subscriptions of instances that are gone.

    Attributes:
        queues: The queues to look through.
        ec2: Says which instances are there.
        now_s: The time, in Unix seconds.
        tell: Is told how far the sweep is.
    """

    queues: NodeQueues
    ec2: Ec2
    now_s: float
    tell: Callable[[str], None]

    def steps(self) -> Iterator[Step]:
        """Yield each change; make it before the next one is asked for.

        Raises:
            AwsCallFailed: Something can't be listed, so nothing more is removed.
        """
        place = self.queues.place
        subscribed: dict[str, list[str]] = {}
        for one, endpoint in self.queues.subscriptions.all():
            subscribed.setdefault(place.instance_of(endpoint) or "", []).append(one)
        listed = {place.instance_of(url) or "" for url in self.queues.urls()}
        named = sorted({*subscribed, *listed} - {""})
        self.tell(f"{len(listed)} queues, {len(subscribed)} subscribed, of {len(named)} instances")
        there = self.ec2.present(named)
        gone = [instance_id for instance_id in named if instance_id not in there]
        for number, instance_id in enumerate(gone, 1):
            self.tell(f"{instance_id} is gone, {number} of {len(gone)}")
            yield from self._left_by(
                place.queue(instance_id),
                subscribed.get(instance_id, ()),
                is_listed=instance_id in listed,
            )

    def _left_by(self, queue: str, subscribed: Iterable[str], *, is_listed: bool) -> Iterator[Step]:
        # By its name, because for a minute the list has queues that are gone, and not yet those
        # that are new: a subscription whose queue is not in it may be one that has just been made.
        made_at = self.queues.made_at(queue)
        if made_at is not None and self.now_s - made_at < YOUNG_S:
            self.tell(f"{queue} is younger than an hour, and stays")
            return
        if made_at is not None or is_listed:
            yield self.queues.deletion(queue)
        for one in subscribed:
            yield self.queues.subscriptions.removal(one)
