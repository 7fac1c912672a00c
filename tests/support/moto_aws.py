"""AWS on loopback: moto's server as a process, and what tests ask of it.

It never repeats or reorders a message, so tests send what is to come twice or late themselves.
"""

import asyncio
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, cast

from lab.moto import CREDENTIALS, REGION, moto_server

from watcher.aws.boto import LazyClient


class Moto:
    """A running server; ``environment`` points boto3 to it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.environment = {**CREDENTIALS, "AWS_ENDPOINT_URL": url}
        self._clients: dict[str, LazyClient] = {}

    def call(self, service: str, operation: str, **arguments: object) -> Mapping[str, Any]:
        """Make one call of an AWS API; the environment has to be in force.

        It may take a minute: moto makes all of EC2 at the first question to it.
        """
        client = self._clients.setdefault(service, LazyClient(service, REGION, wait_s=60.0))
        return cast("Mapping[str, Any]", getattr(client.get(), operation)(**arguments))

    def close(self) -> None:
        """Close the connections of the calls."""
        for client in self._clients.values():
            client.close()

    def queue(self, name: str = "") -> str:
        """Make a queue, under a name of its own unless there is one, and return its URL."""
        made = self.call("sqs", "create_queue", QueueName=name or f"test-{uuid.uuid4()}")
        return str(made["QueueUrl"])

    def send(self, queue_url: str, bodies: Sequence[str]) -> None:
        """Put messages into a queue."""
        for start in range(0, len(bodies), 10):
            entries = [
                {"Id": str(number), "MessageBody": body}
                for number, body in enumerate(bodies[start : start + 10])
            ]
            self.call("sqs", "send_message_batch", QueueUrl=queue_url, Entries=entries)

    def counts(self, queue_url: str) -> tuple[int, int]:
        """Return how many messages of a queue can be received, and how many are hidden."""
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        answer = self.call(
            "sqs", "get_queue_attributes", QueueUrl=queue_url, AttributeNames=list(names)
        )
        seen, hidden = (int(answer["Attributes"][name]) for name in names)
        return seen, hidden

    def arn(self, queue_url: str) -> str:
        """Return the ARN of a queue."""
        answer = self.call(
            "sqs", "get_queue_attributes", QueueUrl=queue_url, AttributeNames=["QueueArn"]
        )
        return str(answer["Attributes"]["QueueArn"])

    async def becomes(self, queue_url: str, counts: tuple[int, int]) -> None:
        """Wait until a queue has so many messages to be received, and so many hidden."""
        async with asyncio.timeout(30):
            while await asyncio.to_thread(self.counts, queue_url) != counts:  # noqa: ASYNC110 - asked for over HTTP
                await asyncio.sleep(0.05)


@contextmanager
def moto_aws() -> Iterator[Moto]:
    """Run moto's server in the block."""
    with moto_server() as url, closing(Moto(url)) as moto:
        yield moto


def spot_warning(instance_id: str, event_id: str = "", said: str = "") -> str:
    """Return EventBridge's warning that an instance is interrupted, as it lies in a queue."""
    return json.dumps(
        {
            "version": "0",
            "id": event_id or str(uuid.uuid4()),
            "detail-type": "EC2 Spot Instance Interruption Warning",
            "source": "aws.ec2",
            "account": "123456789012",
            "time": said or "2026-11-30T10:05:06Z",
            "region": REGION,
            "resources": [f"arn:aws:ec2:us-east-1b:instance/{instance_id}"],
            "detail": {"instance-id": instance_id, "instance-action": "terminate"},
        }
    )


def state_change(instance_id: str, state: str, said: str = "") -> str:
    """Return EventBridge's word on the state of an instance, said at that time or at none."""
    message = {
        "detail-type": "EC2 Instance State-change Notification",
        "source": "aws.ec2",
        "detail": {"instance-id": instance_id, "state": state},
    }
    return json.dumps({**message, "time": said} if said else message)
