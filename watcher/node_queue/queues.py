"""Makes and removes one node's queue and its subscription; all of it may be done again.

Every method blocks. Source: SQS API reference, CreateQueue (read 2026-11-30).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from watcher.aws.boto import LazyClient, failing_as, pages
from watcher.errors import AwsCallFailed
from watcher.node_queue.names import Place
from watcher.node_queue.step import Outcome, Step
from watcher.node_queue.subscriptions import Subscriptions

RETENTION_S = 300
"""How long a message is kept: an older notice is about an instance that is gone."""

VISIBILITY_S = 30
RECEIPTS = 20
"""Receipts before a message goes to the dead-letter queue: later than the end of its retention for
one that is for another node, so that only what was refused for long can get there."""

_EXISTS = ("QueueAlreadyExists", "QueueNameExists")

_FINAL = ("refused", "forbidden")
"""Outcomes of a call after which it is known that nothing was done."""


class _Sqs(Protocol):
    def create_queue(self, **arguments: object) -> Mapping[str, Any]: ...
    def get_queue_url(self, **arguments: object) -> Mapping[str, Any]: ...
    def set_queue_attributes(self, **arguments: object) -> Mapping[str, Any]: ...
    def get_queue_attributes(self, **arguments: object) -> Mapping[str, Any]: ...
    def list_queues(self, **arguments: object) -> Mapping[str, Any]: ...
    def delete_queue(self, **arguments: object) -> Mapping[str, Any]: ...


class NodeQueues:
    """The queues that one topic fills.

    Attributes:
        place: Where they are.
        subscriptions: What fills them.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._sqs_client = LazyClient("sqs", place.region)
        self.subscriptions = Subscriptions(place)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._sqs_client.close()
        self.subscriptions.close()

    def creation(self, instance_id: str, dead_letter_arn: str | None) -> list[Step]:
        """Return what makes an instance's queue and fills it; made again, it changes nothing.

        Raises:
            AwsCallFailed: There is no such topic, or it may not be seen, so no queue is made.
        """
        queue = self.place.queue(instance_id)
        attributes = self._attributes(queue, dead_letter_arn)
        subscribed = self.subscriptions.of(queue)
        is_new = self.made_at(queue) is None

        def fill() -> Outcome:
            return self._fill(instance_id, subscribed, is_new=is_new)

        return [
            Step(f"make queue {queue}", lambda: self._make_queue(queue, attributes)),
            Step(f"subscribe {queue}", fill),
        ]

    def removal(self, queue: str) -> list[Step]:
        """Return what removes a queue and its subscriptions; what is not there is no error.

        Raises:
            AwsCallFailed: The subscriptions can't be listed.
        """
        return [
            *(self.subscriptions.removal(one) for one in self.subscriptions.of(queue)),
            self.deletion(queue),
        ]

    def deletion(self, queue: str) -> Step:
        """Return what removes a queue alone."""
        return Step(f"delete queue {queue}", lambda: self._delete_queue(queue))

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
        asked = {"QueueNamePrefix": self.place.prefix, "MaxResults": 1000}
        for page in pages("SQS ListQueues", self._sqs().list_queues, **asked):
            yield from (url for url in page.get("QueueUrls", ()) if self.place.instance_of(url))

    def made_at(self, queue: str) -> float | None:
        """Return when a queue was made, in Unix seconds; None where there is none.

        Raises:
            AwsCallFailed: It is unknown whether it is there.
        """
        try:
            url = self.url(queue)
            with failing_as(f"SQS GetQueueAttributes {queue}"):
                answer = self._sqs().get_queue_attributes(
                    QueueUrl=url, AttributeNames=["CreatedTimestamp"]
                )
                return float(answer["Attributes"]["CreatedTimestamp"])
        except AwsCallFailed as error:
            if error.outcome != "no_queue":
                raise
            return None

    def _attributes(self, queue: str, dead_letter_arn: str | None) -> dict[str, str]:
        arn = self.place.queue_arn(queue)
        statement = {
            "Sid": "TopicOnly",
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": self.place.topic_arn}},
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

    def _make_queue(self, queue: str, attributes: Mapping[str, str]) -> Outcome:
        try:
            with failing_as(f"SQS CreateQueue {queue}"):
                self._sqs().create_queue(QueueName=queue, Attributes=attributes)
        except AwsCallFailed as error:
            if not any(code in error.code for code in _EXISTS):
                raise
            with failing_as(f"SQS SetQueueAttributes {queue}"):
                self._sqs().set_queue_attributes(QueueUrl=self.url(queue), Attributes=attributes)
        return Outcome.DONE

    def _fill(self, instance_id: str, subscribed: Sequence[str], *, is_new: bool) -> Outcome:
        try:
            self.subscriptions.fill(instance_id, subscribed)
        except AwsCallFailed as error:
            # Nothing would ever be in it. Where that is not certain it is left to the next try,
            # because AWS lets nobody make a queue under the same name for a minute.
            if is_new and error.outcome in _FINAL:
                self._delete_queue(self.place.queue(instance_id))
            raise
        return Outcome.DONE

    def _delete_queue(self, queue: str) -> Outcome:
        try:
            url = self.url(queue)
            with failing_as(f"SQS DeleteQueue {queue}"):
                self._sqs().delete_queue(QueueUrl=url)
        except AwsCallFailed as error:
            if error.outcome != "no_queue":
                raise
            return Outcome.NO_QUEUE
        return Outcome.DONE

    def _sqs(self) -> _Sqs:
        return cast("_Sqs", self._sqs_client.get())
