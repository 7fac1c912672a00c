"""`reprieve-watcher queue`: makes, deletes and sweeps the queues of single nodes."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterable
from contextlib import closing

from watcher.aws.boto import require_boto3
from watcher.aws.ec2 import Ec2
from watcher.errors import AwsCallFailed, ConfigError, SourceError
from watcher.httpclient import HttpClient
from watcher.node_queue.filter import APPLIES_WITHIN_MIN, POLICIES_A_TOPIC
from watcher.node_queue.names import Place, checked_instance_id
from watcher.node_queue.queues import NodeQueues, Step
from watcher.node_queue.sweep import sweeping
from watcher.settings import load
from watcher.sources.aws_config import AwsConfig
from watcher.sources.aws_instance import INSTANCE_ID
from watcher.sources.aws_session import ImdsSession, TokenBox

DESCRIPTION = """\
Make, delete or sweep up the SQS queues of single nodes, which deploy/aws/node-topic.yaml fills. A
cluster needs none of this: it has one queue, and a relay."""

EPILOG = f"""\
create   this instance's queue, its subscription and filter; its URL goes to standard output
delete   the same, when the instance leaves
sweep    the queues and subscriptions of instances that are gone; run it now and then, somewhere

example, before the daemon starts:

  REPRIEVE_AWS_QUEUE_URL=$(reprieve-watcher queue create --topic-arn ARN)
  export REPRIEVE_AWS_QUEUE_URL

limits of SNS: a new filter takes up to {APPLIES_WITHIN_MIN} minutes to count, and until then a node
hears from the metadata service alone; a topic has at most {POLICIES_A_TOPIC} filters, so more nodes
need another topic and --name, or a relay

exit status: 0 done, 1 AWS refused or was not reached, 78 an option is wrong"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `queue` takes, and the help that teaches it, to ``parser``."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", choices=("create", "delete", "sweep"), help="see below")
    parser.add_argument("--topic-arn", required=True, metavar="ARN", help="the topic's")
    parser.add_argument(
        "--name", default="reprieve", metavar="NAME", help="begins the queues' names (%(default)s)"
    )
    parser.add_argument("--instance-id", metavar="ID", help="whose queue (this instance's)")
    parser.add_argument("--dead-letter-arn", metavar="ARN", help="queue for what is refused")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(arguments: argparse.Namespace) -> int:
    """Do it, and return the exit status.

    Raises:
        ConfigError: An option is wrong, boto3 is missing, or it is unknown who we are.
    """
    require_boto3("queue")
    place = Place.of(arguments.topic_arn, arguments.name)
    with closing(NodeQueues(place)) as queues, closing(Ec2(place.region)) as ec2:
        try:
            if arguments.what == "sweep":
                found = sweeping(queues, ec2, place, time.time())
                return _take(found, is_dry=arguments.dry_run)
            instance_id = _instance_id(arguments.instance_id)
            if arguments.what == "delete":
                steps = queues.removal(place.queue(instance_id))
                return _take(steps, is_dry=arguments.dry_run)
            steps = queues.creation(instance_id, arguments.dead_letter_arn)
            status = _take(steps, is_dry=arguments.dry_run)
            if not arguments.dry_run:
                sys.stdout.write(queues.url(place.queue(instance_id)) + "\n")
        except AwsCallFailed as error:
            sys.stderr.write(f"reprieve-watcher queue: {error}\n")
            return 1
        else:
            return status


def _take(steps: Iterable[Step], *, is_dry: bool) -> int:
    """Take each step, or only name it; on standard error, because the output is the URL."""
    for step in steps:
        sys.stderr.write(f"would {step.what}\n" if is_dry else f"{step.what}\n")
        if not is_dry:
            step.make()
    return os.EX_OK


def _instance_id(given: str | None) -> str:
    config = load(None, os.environ, {}).config.of(AwsConfig)
    return checked_instance_id(given or config.instance_id or asyncio.run(_asked(config)))


async def _asked(config: AwsConfig) -> str:
    """Return what the metadata service says."""
    clock = asyncio.get_running_loop().time
    async with HttpClient(config.metadata_endpoint, config.metadata_limit_s) as client:
        may_use_v1 = config.metadata_v1 == "on"
        session = ImdsSession(client, clock, TokenBox(), may_use_v1=may_use_v1)
        try:
            answer = await session.get(f"/latest/meta-data/{INSTANCE_ID}")
        except SourceError as error:
            raise ConfigError(f"give --instance-id, because {error}") from error
    return answer.body.decode("latin-1").strip()
