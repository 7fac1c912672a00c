"""`reprieve-watcher relay`: builds a relay from the settings, runs it, and ends it in order."""

import argparse
import asyncio
import contextlib
import logging
from pathlib import Path

from watcher.aws.boto import require_boto3
from watcher.aws.ec2 import Ec2
from watcher.aws.sqs import SqsQueue, region_of
from watcher.config import Config
from watcher.custody import Custody
from watcher.errors import ConfigError, StartFailed
from watcher.faces.probes import Probes
from watcher.faces.server import keep_serving
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.process import now, stop_event
from watcher.relay.addressees import Addressees
from watcher.relay.delivery import Delivery
from watcher.relay.handlers import Handler, make_handler
from watcher.relay.lines import ReaderGone
from watcher.relay.relay import DRAIN_LIMIT_S, POLL_S, VISIBILITY_S, Parts, Relay
from watcher.sdnotify import notify
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.aws_words import QUEUE
from watcher.sources.intake import Intake
from watcher.sources.reception import KEYS, Reception

log = logging.getLogger(__name__)

READERS = 4
"""Long polls side by side: enough for a burst of 1,000, few enough to cost nothing when idle."""

DESCRIPTION = """\
Read a cluster's queue until SIGTERM, and hand each notice in it to a handler; a message is deleted
when its notices are handled. Two relays may run side by side: what one of them holds when it dies
is handled by the other ten seconds later."""

EPILOG = """\
example: reprieve-watcher relay --queue-url https://sqs.eu-west-1.amazonaws.com/123456789012/fleet

Messages of a kind that is not known and such that can't be read stay in the queue, and end in its
dead-letter queue. With --shared-queue an instance is ours only if it carries --cluster-tag, and the
messages of others are left as they are; a queue for each cluster is better. An instance that nobody
knows is tried for 60 s, because it may be joining, and then acknowledged and counted.

Every option can be set as REPRIEVE_<KEY> in the environment and in the TOML file as well."""

_OPTIONS = {
    "relay.queue_url": ("--queue-url", "URL", "the queue to read"),
    "relay.handler": ("--handler", "log/-/FILE", "log the notices, or write them as JSON lines"),
    "relay.cluster_tag": ("--cluster-tag", "KEY[=VALUE]", "the tag of this cluster's instances"),
    "faces.listen": ("--listen", "HOST:PORT", "probes and metrics (127.0.0.1:9765)"),
    "log_format": ("--log-format", "text/json", "how log lines look"),
    "log_level": ("--log-level", "LEVEL", "least level that is logged"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `relay` takes, and the help that teaches it, to ``parser``."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file to read")
    parser.add_argument(
        "--shared-queue",
        dest="relay.shared_queue",
        action="store_const",
        const="true",
        help="other clusters read the queue too",
    )
    for key, (option, value, text) in _OPTIONS.items():
        parser.add_argument(option, dest=key, metavar=value, help=text)


def run(config: Config) -> None:
    """Relay until SIGTERM, SIGINT or SIGHUP; a second one ends the process at once.

    Raises:
        ConfigError: There is no queue, no tag for a shared one, no boto3, or the handler can't
            be used.
        StartFailed: What reads our standard output has ended.
    """
    relay = config.relay
    if relay.queue_url is None:
        raise ConfigError(
            "relay has no queue: name it with --queue-url or REPRIEVE_RELAY_QUEUE_URL"
        )
    if relay.shared_queue and relay.cluster_tag is None:
        raise ConfigError("a shared queue needs --cluster-tag, to tell our instances from others")
    if relay.cluster_tag is not None and "" in relay.cluster_tag.split("=", 1):
        # EC2 would be asked for the key alone, and every other cluster's instances would be ours.
        raise ConfigError(f"--cluster-tag {relay.cluster_tag}: write KEY, or KEY=VALUE with both")
    require_boto3("the relay")
    handler = make_handler(relay.handler)
    try:
        asyncio.run(_serve(config, relay.queue_url, handler))
    except ExceptionGroup as errors:
        gone, others = errors.split(ReaderGone)
        if gone is None or others is not None:
            raise
        raise StartFailed(
            "standard output: nobody reads it any more. What was in hand stays in the queue; "
            "start the relay again with a reader"
        ) from errors


async def _serve(config: Config, url: str, handler: Handler) -> None:
    stop = stop_event()
    metrics = Metrics()
    health = SourceHealth(QUEUE, KEYS, now(), metrics)
    with contextlib.ExitStack() as stack:
        queues = [stack.enter_context(contextlib.closing(SqsQueue(url))) for _ in range(READERS)]
        ec2 = stack.enter_context(contextlib.closing(Ec2(region_of(url))))
        custody = Custody(queues[0], VISIBILITY_S, metrics.messages_held)
        tag = config.relay.cluster_tag if config.relay.shared_queue else None
        parts = Parts(
            readers=[Reception(queue, POLL_S, health, now) for queue in queues],
            intake=Intake(parse_message, metrics, now),
            custody=custody,
            addressees=Addressees(ec2, tag, now),
            delivery=Delivery(handler, metrics, now),
        )
        probes = Probes((health,), metrics, config.faces.blind_limit_s, now)
        routes = {
            "/healthz": probes.healthz,
            "/readyz": probes.readyz,
            "/metrics": probes.metrics,
        }
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            showing = group.create_task(keep_serving(routes, config.faces.listen, bound))
            keeping = group.create_task(custody.keep())
            log.info("ready listen=%s queue=%s", await bound, url)
            notify("READY=1")
            await Relay(parts, health, now).run(stop)
            notify("STOPPING=1")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_LIMIT_S):
                    await custody.emptied()
            keeping.cancel()
            showing.cancel()
    log.info("stopped")
