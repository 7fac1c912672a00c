"""What a relay reads of AWS: one SQS queue, and EC2 for what no message says."""

import contextlib
from collections.abc import AsyncIterator, Callable

from watcher.aws.autoscaling import AutoScaling
from watcher.aws.boto import require_boto3
from watcher.aws.ec2 import Ec2
from watcher.aws.sqs import SqsQueue, region_of
from watcher.config import Config, RelayConfig
from watcher.custody import Custody
from watcher.errors import ConfigError
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.process import now
from watcher.relay.addressees import Addressees
from watcher.relay.delivery import Delivery
from watcher.relay.hooks import Hooks
from watcher.relay.nodes import WORD
from watcher.relay.opened import Opened, Queue
from watcher.relay.relay import POLL_S, VISIBILITY_S, Parts, Relay
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.aws_words import QUEUE
from watcher.sources.intake import Intake
from watcher.sources.reception import KEYS, Reception

READERS = 4
"""Long polls side by side: enough for a burst of 1,000, few enough to cost nothing when idle."""


def require_aws(config: RelayConfig) -> None:
    """Make sure that the settings are whole and boto3 is there.

    Raises:
        ConfigError: Something is missing; says what.
    """
    if config.shared_queue and config.cluster_tag is None:
        raise ConfigError("a shared queue needs --cluster-tag, to tell our instances from others")
    require_boto3("the relay")


@contextlib.asynccontextmanager
async def opened_aws(
    config: Config,
    url: str,
    delivery: Delivery,
    metrics: Metrics,
    is_drained: Callable[[str], bool],
) -> AsyncIterator[Opened]:
    """Open what reads the queue, until the end of the block."""
    health = SourceHealth(QUEUE, KEYS, now(), metrics)
    with contextlib.ExitStack() as stack:
        queues = [stack.enter_context(contextlib.closing(SqsQueue(url))) for _ in range(READERS)]
        relay, region = config.relay, region_of(url)
        ec2 = stack.enter_context(contextlib.closing(Ec2(region)))
        autoscaling = stack.enter_context(contextlib.closing(AutoScaling(region)))
        # Whoever else gets the notices is told of their hooks, and sees to them.
        kept = Hooks(autoscaling, relay.hook_wait_s, config.policy, now, is_drained)
        hooks = kept if relay.handler == WORD else None
        tag = relay.cluster_tag if relay.shared_queue else None
        custody = Custody(queues[0], VISIBILITY_S, metrics.messages_held)
        parts = Parts(
            readers=[Reception(queue, POLL_S, health, now) for queue in queues],
            intake=Intake(parse_message, metrics, now),
            custody=custody,
            addressees=Addressees(ec2, tag, now),
            delivery=delivery,
            hooks=hooks,
        )
        queue = Queue(Relay(parts, health, now), custody)
        yield Opened(what=url, healths=[health], queue=queue, keepers=[custody.keep])
