"""The subscriptions of nodes' queues to the topic that fills them.

Every method blocks. Source: SNS API reference, Subscribe, ListSubscriptionsByTopic (read
2026-11-30).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from watcher.aws.boto import LazyClient, failing_as, pages
from watcher.node_queue.filter import filter_policy
from watcher.node_queue.names import Place
from watcher.node_queue.step import Outcome, Step


class _Sns(Protocol):
    def subscribe(self, **arguments: object) -> Mapping[str, Any]: ...
    def set_subscription_attributes(self, **arguments: object) -> Mapping[str, Any]: ...
    def list_subscriptions_by_topic(self, **arguments: object) -> Mapping[str, Any]: ...
    def unsubscribe(self, **arguments: object) -> Mapping[str, Any]: ...


class Subscriptions:
    """What connects one topic with the queues of nodes."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = LazyClient("sns", place.region)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._client.close()

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield ARN and endpoint of each subscription of a node's queue to the topic.

        The whole endpoint counts: a page or another account's queue may end in a queue's name.

        Raises:
            AwsCallFailed: They can't be listed, as those of a topic that does not exist.
        """
        ask, topic_arn = self._sns().list_subscriptions_by_topic, self._place.topic_arn
        for page in pages("SNS ListSubscriptionsByTopic", ask, TopicArn=topic_arn):
            for one in page.get("Subscriptions", ()):
                endpoint = str(one["Endpoint"])
                instance_id = self._place.instance_of(endpoint)
                if instance_id and endpoint == self._place.queue_arn(
                    self._place.queue(instance_id)
                ):
                    yield str(one["SubscriptionArn"]), endpoint

    def of(self, queue: str) -> list[str]:
        """Return the ARN of each subscription of a queue.

        Raises:
            AwsCallFailed: They can't be listed.
        """
        arn = self._place.queue_arn(queue)
        return [one for one, endpoint in self.all() if endpoint == arn]

    def fill(self, instance_id: str, subscribed: Sequence[str]) -> None:
        """Let the topic fill an instance's queue with what is for it.

        ``subscribed`` are the subscriptions that the queue has already; they are set right.

        Raises:
            AwsCallFailed: The queue may have no subscription, or another filter.
        """
        queue = self._place.queue(instance_id)
        attributes = {
            "RawMessageDelivery": "true",
            "FilterPolicyScope": "MessageBody",
            "FilterPolicy": json.dumps(filter_policy(instance_id)),
        }
        for one in subscribed:
            for name, value in attributes.items():
                with failing_as("SNS SetSubscriptionAttributes"):
                    self._sns().set_subscription_attributes(
                        SubscriptionArn=one, AttributeName=name, AttributeValue=value
                    )
        if not subscribed:
            with failing_as(f"SNS Subscribe {queue}"):
                self._sns().subscribe(
                    TopicArn=self._place.topic_arn,
                    Protocol="sqs",
                    Endpoint=self._place.queue_arn(queue),
                    Attributes=attributes,
                    ReturnSubscriptionArn=True,
                )

    def removal(self, subscription_arn: str) -> Step:
        """Return what removes a subscription."""

        def unsubscribe() -> Outcome:
            with failing_as("SNS Unsubscribe"):
                self._sns().unsubscribe(SubscriptionArn=subscription_arn)
            return Outcome.DONE

        return Step(f"unsubscribe {subscription_arn}", unsubscribe)

    def _sns(self) -> _Sns:
        return cast("_Sns", self._client.get())
