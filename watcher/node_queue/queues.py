"""Makes and removes one node's queue and its subscription; all of it may be done again.

Every method blocks. Source: SQS API reference, CreateQueue; SNS API reference, Subscribe (read
2026-11-30).
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from watcher.aws.boto import LazyClient, failing_as
from watcher.errors import AwsCallFailed
from watcher.node_queue.filter import filter_policy
from watcher.node_queue.names import Place

RETENTION_S = 300
"""How long a message is kept: an older notice is about an instance that is gone."""

VISIBILITY_S = 30
RECEIPTS = 20
"""Receipts before a message goes to the dead-letter queue: later than the end of its retention for
one that is for another node, so that only what was refused for long can get there."""

_PAGE_LIMIT = 100
_EXISTS = ("QueueAlreadyExists", "QueueNameExists")


class _Sqs(Protocol):
    def create_queue(self, **arguments: object) -> Mapping[str, Any]: ...
    def get_queue_url(self, **arguments: object) -> Mapping[str, Any]: ...
    def set_queue_attributes(self, **arguments: object) -> Mapping[str, Any]: ...
    def get_queue_attributes(self, **arguments: object) -> Mapping[str, Any]: ...
    def list_queues(self, **arguments: object) -> Mapping[str, Any]: ...
    def delete_queue(self, **arguments: object) -> Mapping[str, Any]: ...


class _Sns(Protocol):
    def subscribe(self, **arguments: object) -> Mapping[str, Any]: ...
    def set_subscription_attributes(self, **arguments: object) -> Mapping[str, Any]: ...
    def list_subscriptions_by_topic(self, **arguments: object) -> Mapping[str, Any]: ...
    def unsubscribe(self, **arguments: object) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One change: what it is, for people, and what makes it."""

    what: str
    make: Callable[[], object]


class NodeQueues:
    """The queues that one topic fills.

    Args:
        place: Where they are.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._sqs_client = LazyClient("sqs", place.region)
        self._sns_client = LazyClient("sns", place.region)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._sqs_client.close()
        self._sns_client.close()

    def creation(self, instance_id: str, dead_letter_arn: str | None) -> list[Step]:
        """Return what makes an instance's queue and fills it; made again, it changes nothing."""
        queue = self._place.queue(instance_id)
        attributes = self._attributes(queue, dead_letter_arn)
        return [
            Step(f"make queue {queue}", lambda: self._make_queue(queue, attributes)),
            Step(f"subscribe {queue}", lambda: self._subscribe(queue, filter_policy(instance_id))),
        ]

    def removal(self, queue: str) -> list[Step]:
        """Return what removes a queue and its subscriptions; what is not there is no error.

        Raises:
            AwsCallFailed: The subscriptions can't be listed.
        """
        arn = self._place.queue_arn(queue)
        mine = [one for one, endpoint in self.subscriptions() if endpoint == arn]
        return [
            *(self.unsubscription(one) for one in mine),
            self.deletion(queue),
        ]

    def deletion(self, queue: str) -> Step:
        """Return what removes a queue alone."""
        return Step(f"delete queue {queue}", lambda: self._delete_queue(queue))

    def unsubscription(self, subscription_arn: str) -> Step:
        """Return what removes a subscription."""

        def unsubscribe() -> None:
            with failing_as("SNS Unsubscribe"):
                self._sns().unsubscribe(SubscriptionArn=subscription_arn)

        return Step(f"unsubscribe {subscription_arn}", unsubscribe)

    def url(self, queue: str) -> str:
        """Return the URL of a queue.

        Raises:
            AwsCallFailed: It is not there, or may not be seen.
        """
        with failing_as(f"SQS GetQueueUrl {queue}"):
            return str(self._sqs().get_queue_url(QueueName=queue)["QueueUrl"])

    def urls(self) -> Iterator[str]:
        """Yield the URL of every node's queue.

        Raises:
            AwsCallFailed: They can't be listed.
        """
        asked: dict[str, object] = {"QueueNamePrefix": self._place.prefix, "MaxResults": 1000}
        for _ in range(_PAGE_LIMIT):
            with failing_as("SQS ListQueues"):
                page = self._sqs().list_queues(**asked)
            yield from (url for url in page.get("QueueUrls", ()) if self._place.instance_of(url))
            if not page.get("NextToken"):
                return
            asked["NextToken"] = page["NextToken"]

    def made_at(self, url: str) -> float:
        """Return when a queue was made, in Unix seconds.

        Raises:
            AwsCallFailed: It is not there, or may not be seen.
        """
        with failing_as(f"SQS GetQueueAttributes {url}"):
            answer = self._sqs().get_queue_attributes(
                QueueUrl=url, AttributeNames=["CreatedTimestamp"]
            )
        return float(answer["Attributes"]["CreatedTimestamp"])

    def subscriptions(self) -> Iterator[tuple[str, str]]:
        """Yield ARN and endpoint of each subscription of a node's queue to the topic.

        Raises:
            AwsCallFailed: They can't be listed.
        """
        asked: dict[str, object] = {"TopicArn": self._place.topic_arn}
        for _ in range(_PAGE_LIMIT):
            with failing_as("SNS ListSubscriptionsByTopic"):
                page = self._sns().list_subscriptions_by_topic(**asked)
            for one in page.get("Subscriptions", ()):
                if self._place.instance_of(str(one["Endpoint"])):
                    yield str(one["SubscriptionArn"]), str(one["Endpoint"])
            if not page.get("NextToken"):
                return
            asked["NextToken"] = page["NextToken"]

    def _attributes(self, queue: str, dead_letter_arn: str | None) -> dict[str, str]:
        arn = self._place.queue_arn(queue)
        statement = {
            "Sid": "TopicOnly",
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": self._place.topic_arn}},
        }
        attributes = {
            "MessageRetentionPeriod": str(RETENTION_S),
            "VisibilityTimeout": str(VISIBILITY_S),
            "SqsManagedSseEnabled": "true",
            "Policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        }
        if dead_letter_arn is not None:
            redrive = {"deadLetterTargetArn": dead_letter_arn, "maxReceiveCount": RECEIPTS}
            attributes["RedrivePolicy"] = json.dumps(redrive)
        return attributes

    def _make_queue(self, queue: str, attributes: Mapping[str, str]) -> None:
        try:
            with failing_as(f"SQS CreateQueue {queue}"):
                self._sqs().create_queue(QueueName=queue, Attributes=attributes)
        except AwsCallFailed as error:
            if not any(code in error.code for code in _EXISTS):
                raise
            with failing_as(f"SQS SetQueueAttributes {queue}"):
                self._sqs().set_queue_attributes(QueueUrl=self.url(queue), Attributes=attributes)

    def _subscribe(self, queue: str, policy: Mapping[str, object]) -> None:
        arn = self._place.queue_arn(queue)
        attributes = {
            "RawMessageDelivery": "true",
            "FilterPolicyScope": "MessageBody",
            "FilterPolicy": json.dumps(policy),
        }
        for one, endpoint in self.subscriptions():
            if endpoint == arn:
                for name, value in attributes.items():
                    with failing_as("SNS SetSubscriptionAttributes"):
                        self._sns().set_subscription_attributes(
                            SubscriptionArn=one, AttributeName=name, AttributeValue=value
                        )
                return
        with failing_as(f"SNS Subscribe {queue}"):
            self._sns().subscribe(
                TopicArn=self._place.topic_arn,
                Protocol="sqs",
                Endpoint=arn,
                Attributes=attributes,
                ReturnSubscriptionArn=True,
            )

    def _delete_queue(self, queue: str) -> None:
        try:
            url = self.url(queue)
            with failing_as(f"SQS DeleteQueue {queue}"):
                self._sqs().delete_queue(QueueUrl=url)
        except AwsCallFailed as error:
            if error.outcome != "no_queue":
                raise

    def _sqs(self) -> _Sqs:
        return cast("_Sqs", self._sqs_client.get())

    def _sns(self) -> _Sns:
        return cast("_Sns", self._sns_client.get())
