"""`reprieve-watcher queue`: makes, deletes and sweeps the queues of single nodes."""

import argparse
import asyncio
import os
import time
from collections.abc import Iterable
from contextlib import closing

from watcher import console
from watcher.aws.boto import require_boto3
from watcher.aws.ec2 import Ec2
from watcher.errors import ConfigError, SourceError
from watcher.httpclient import HttpClient
from watcher.node_queue.filter import APPLIES_WITHIN_MIN, POLICIES_A_TOPIC
from watcher.node_queue.names import Place, checked_instance_id
from watcher.node_queue.queues import NodeQueues
from watcher.node_queue.report import Report
from watcher.node_queue.step import Step
from watcher.node_queue.sweep import Sweep
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

what is done is told on standard error; at the end --json prints one object with queue_url and
steps, each with what was done and its outcome: done, dry_run, or no_queue for a queue that had gone
already

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
    parser.add_argument("--json", action="store_true", help="print what was done as one object")


def run(arguments: argparse.Namespace) -> int:
    """Do it, and return the exit status.

    Raises:
        ConfigError: An option is wrong, boto3 is missing, or it is unknown who we are.
        AwsCallFailed: AWS refused a step or was not reached; those before it are taken.
    """
    require_boto3("queue")
    place = Place.of(arguments.topic_arn, arguments.name)
    instance_id = None if arguments.what == "sweep" else _instance_id(arguments.instance_id)
    report, url = Report(is_dry=arguments.dry_run), None
    with closing(NodeQueues(place)) as queues, closing(Ec2(place.region)) as ec2:
        try:
            for step in _steps(arguments, instance_id, queues, ec2):
                report.take(step)
            if instance_id and arguments.what == "create" and not arguments.dry_run:
                url = queues.url(place.queue(instance_id))
        finally:
            if arguments.json:
                report.show(url)
    if url is not None and not arguments.json:
        console.show(url + "\n")
    return os.EX_OK


def _steps(
    arguments: argparse.Namespace, instance_id: str | None, queues: NodeQueues, ec2: Ec2
) -> Iterable[Step]:
    if instance_id is None:
        return Sweep(queues, ec2, time.time(), console.tell).steps()
    if arguments.what == "delete":
        return queues.removal(queues.place.queue(instance_id))
    return queues.creation(instance_id, arguments.dead_letter_arn)


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
