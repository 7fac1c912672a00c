"""Names from which everything follows: whose a queue is, and what a permission may cover."""

import re
from dataclasses import dataclass

from watcher.errors import ConfigError

_TOPIC_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):sns:(?P<region>[a-z0-9-]+):(?P<account>\d{12}):[\w-]{1,256}"
)
_NAME = re.compile(r"[A-Za-z0-9-]{1,40}")
_INSTANCE_ID = re.compile(r"i-[0-9a-f]{8,17}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the queues are: beside the topic that fills them, all under one name.

    Attributes:
        name: Begins every queue's name, as in deploy/aws/node-topic.yaml.
        topic_arn: The topic that EventBridge publishes to.
        partition: AWS's name for its own world, such as ``aws-cn``.
        region: The topic's.
        account: The topic's.
    """

    name: str
    topic_arn: str
    partition: str
    region: str
    account: str

    @classmethod
    def of(cls, topic_arn: str, name: str) -> "Place":
        """Return the place that belongs to a topic.

        Raises:
            ConfigError: The ARN is no topic's, or queues can't be named so.
        """
        found = _TOPIC_ARN.fullmatch(topic_arn)
        if found is None:
            raise ConfigError(f"--topic-arn {topic_arn}: not like arn:aws:sns:REGION:ACCOUNT:NAME")
        if not _NAME.fullmatch(name):
            raise ConfigError(f"--name {name}: up to 40 letters, digits and hyphens")
        return cls(name, topic_arn, found["partition"], found["region"], found["account"])

    @property
    def prefix(self) -> str:
        """What the names of all these queues begin with."""
        return f"{self.name}-node-"

    def queue(self, instance_id: str) -> str:
        """Return the name of an instance's queue."""
        return self.prefix + instance_id

    def queue_arn(self, queue: str) -> str:
        """Return the ARN of a queue, by its name."""
        return f"arn:{self.partition}:sqs:{self.region}:{self.account}:{queue}"

    def instance_of(self, queue: str) -> str | None:
        """Return whose queue this is, by its name, URL or ARN; None for one that is not ours."""
        name = re.split(r"[/:]", queue)[-1]
        instance_id = name.removeprefix(self.prefix)
        is_ours = name.startswith(self.prefix) and _INSTANCE_ID.fullmatch(instance_id)
        return instance_id if is_ours else None


def checked_instance_id(text: str) -> str:
    """Return an instance's id.

    Raises:
        ConfigError: It is none.
    """
    if not _INSTANCE_ID.fullmatch(text):
        raise ConfigError(f"{text}: no instance id such as i-0123456789abcdef0")
    return text
