"""All that AWS tells one node: the metadata service, and beside it the node's own queue, if any.

The two sources know nothing of each other. A fact that comes by both is two notices of one
instance: the flag file shows the one with the earlier deadline and names the other.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing

from watcher.actions.dry_run import DryRun
from watcher.actions.lifecycle_hook import CompleteLifecycleHook
from watcher.aws.autoscaling import AutoScaling
from watcher.aws.boto import require_boto3
from watcher.aws.ec2 import Ec2
from watcher.aws.sqs import LONG_POLL_S, SqsQueue, region_of
from watcher.aws_environment import ambient_settings
from watcher.custody import Custody
from watcher.errors import ConfigError
from watcher.httpclient import HttpClient
from watcher.sources.aws_config import READERS, AwsConfig
from watcher.sources.aws_doctor import checks
from watcher.sources.aws_imds import AwsImds
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.aws_proof import DMI, proof
from watcher.sources.aws_recipient import Recipient
from watcher.sources.aws_sqs import VISIBILITY_S, AwsSqs, Hands
from watcher.sources.aws_windows import SPOT_WINDOW_S
from watcher.sources.intake import Intake
from watcher.sources.reception import Reception
from watcher.sources.road import Kinds, Opened, Road, Site


def wanted(config: AwsConfig) -> Kinds:
    """Return the sources that the settings ask for.

    Raises:
        ConfigError: One of them lacks what it needs.
    """
    if config.queue_url is not None:
        require_boto3("aws.queue_url")
        if config.metadata == "off" and config.instance_id is None:
            raise ConfigError("without the metadata service a queue needs aws.instance_id")
    found: Kinds = {AwsImds.name: AwsImds.kinds} if config.metadata == "on" else {}
    return found if config.queue_url is None else {**found, AwsSqs.name: AwsSqs.kinds}


@asynccontextmanager
async def opened(config: AwsConfig, site: Site) -> AsyncIterator[Opened]:
    """Open the sources that are wanted, until the end of the block."""
    async with AsyncExitStack() as stack:
        imds = await _imds(config, site, stack) if config.metadata == "on" else None
        lanes = imds.lanes if imds else ()
        if config.queue_url is None:
            yield Opened(sources=lanes)
            return
        health = site.health(AwsSqs.name, AwsSqs.keys)
        queue = stack.enter_context(closing(SqsQueue(config.queue_url)))
        hands = Hands(
            reception=Reception(queue, LONG_POLL_S, health, site.now),
            custody=Custody(queue, VISIBILITY_S, site.metrics.messages_held),
            intake=Intake(parse_message, site.metrics, site.now),
            hooks={},
            hook_wait_s=config.hook_wait_s,
        )
        region = region_of(config.queue_url)
        ec2 = stack.enter_context(closing(Ec2(region)))
        autoscaling = stack.enter_context(closing(AutoScaling(region)))

        def who() -> str | None:
            return config.instance_id or (imds.instance.instance_id if imds else None)

        left = site.left_by(AwsSqs.name)
        hooked = CompleteLifecycleHook(hands.hooks, autoscaling, site.state, site.now)
        yield Opened(
            sources=(*lanes, AwsSqs(hands, Recipient(who, ec2), health, site.now, left)),
            keepers=(hands.custody.keep,),
            actions=(DryRun(hooked) if site.is_dry_run else hooked,),
        )


async def _imds(config: AwsConfig, site: Site, stack: AsyncExitStack) -> AwsImds:
    clients = [HttpClient(config.metadata_endpoint, config.metadata_limit_s) for _ in range(2)]
    spot, rest = [await stack.enter_async_context(client) for client in clients]
    return AwsImds(
        (spot, rest),
        site.health(AwsImds.name, AwsImds.keys),
        site.now,
        site.left_by(AwsImds.name),
        may_use_v1=config.metadata_v1 == "on",
    )


ROAD = Road(
    section="aws",
    cloud="aws",
    settings=AwsConfig,
    readers=READERS,
    wanted=wanted,
    opened=opened,
    ambient=ambient_settings,
    edges=(AwsSqs.name,),
    proof=proof,
    dmi=DMI,
    checks=checks,
    window_s=SPOT_WINDOW_S,
)
