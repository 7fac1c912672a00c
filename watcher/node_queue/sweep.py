"""Finds what ended instances have left: queues, and subscriptions that count towards the limit."""

from collections.abc import Iterator

from watcher.aws.ec2 import Ec2
from watcher.node_queue.names import Place
from watcher.node_queue.queues import NodeQueues, Step

YOUNG_S = 3600.0
"""Age in seconds below which a queue is left alone: EC2 may not show an instance at once that has
just been started, and has made its queue already."""


def sweeping(queues: NodeQueues, ec2: Ec2, place: Place, now_s: float) -> Iterator[Step]:
    """Yield what removes the queues and subscriptions of instances that are gone.

    Args:
        queues: The queues to look through.
        ec2: Says which instances are there.
        place: Reads an instance from the name of its queue.
        now_s: The time, in Unix seconds.

    Raises:
        AwsCallFailed: Something can't be listed, so nothing more is removed.
    """
    subscribed = {one: place.instance_of(endpoint) for one, endpoint in queues.subscriptions()}
    urls = {url: place.instance_of(url) for url in queues.urls()}
    named = {name for name in (*urls.values(), *subscribed.values()) if name}
    there = ec2.present(sorted(named))
    spared = set()
    for url, instance_id in urls.items():
        if instance_id in there:
            continue
        if now_s - queues.made_at(url) < YOUNG_S:
            spared.add(instance_id)
        else:
            yield queues.deletion(url.rpartition("/")[2])
    for one, instance_id in subscribed.items():
        if instance_id not in there and instance_id not in spared:
            yield queues.unsubscription(one)
