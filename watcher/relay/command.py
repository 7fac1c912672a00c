"""`reprieve-watcher relay`: builds a relay from the settings, runs it, and ends it in order."""

import argparse
import asyncio
import contextlib
import logging
from pathlib import Path

from watcher.config import Config
from watcher.errors import ConfigError, StartFailed
from watcher.faces.probes import Probes
from watcher.faces.server import keep_serving
from watcher.metrics import Metrics
from watcher.process import now, stop_event
from watcher.relay import nodes
from watcher.relay.aws import opened_aws, require_aws
from watcher.relay.delivery import Delivery
from watcher.relay.gcp import opened_gcp, require_gcp
from watcher.relay.handlers import Handler, Handling, make_handler
from watcher.relay.lines import ReaderGone
from watcher.relay.opened import Opened
from watcher.relay.relay import DRAIN_LIMIT_S
from watcher.sdnotify import notify
from watcher.sources.kubernetes_config import KubernetesConfig

log = logging.getLogger(__name__)

DESCRIPTION = """\
Read a cluster's queue until SIGTERM, and hand each notice in it to a handler; a message is deleted
when its notices are handled. Two relays may run side by side: what one of them holds when it dies
is handled by the other ten seconds later."""

EPILOG = """\
examples:
  reprieve-watcher relay --handler kubernetes \\
    --queue-url https://sqs.eu-west-1.amazonaws.com/123456789012/fleet
  reprieve-watcher relay --subscription projects/my-proj/subscriptions/reprieve-relay \\
    --gcp-fleet my-proj/europe-west1-b,europe-west1-c --cluster-tag cluster=a

Messages of a kind that is not known and such that can't be read stay in the queue, and end in its
dead-letter queue. With --shared-queue an instance is ours only if it carries --cluster-tag, and the
messages of others are left as they are; a queue for each cluster is better. An instance that nobody
knows is tried for 60 s, because it may be joining, and then acknowledged and counted.

Every option can be set as REPRIEVE_<KEY> in the environment and in the TOML file as well."""

_OPTIONS = {
    "relay.queue_url": ("--queue-url", "URL", "the queue to read"),
    "relay.subscription": ("--subscription", "NAME", "the Pub/Sub subscription to read"),
    "relay.gcp_fleet": ("--gcp-fleet", "PROJECT/ZONE,...", "whose VMs and preemptions to look at"),
    "relay.handler": ("--handler", "kubernetes/log/-/FILE", "on Nodes, to the log, or JSON lines"),
    "relay.cluster_tag": ("--cluster-tag", "KEY[=VALUE]", "the tag, or label, of our instances"),
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
        ConfigError: There is no queue, no tag for a shared one, no library that is needed, or the
            handler can't be used.
        StartFailed: What reads our standard output has ended.
    """
    relay = config.relay
    is_gcp = relay.subscription is not None or relay.gcp_fleet is not None
    if relay.queue_url is None and not is_gcp:
        raise ConfigError(
            "relay has no queue: name it with --queue-url or REPRIEVE_RELAY_QUEUE_URL, on Google "
            "Cloud with --subscription or REPRIEVE_RELAY_SUBSCRIPTION"
        )
    if relay.queue_url is not None and is_gcp:
        raise ConfigError("one relay reads one cloud: --queue-url, or --subscription and the fleet")
    if relay.cluster_tag is not None and "" in relay.cluster_tag.split("=", 1):
        # EC2 would be asked for the key alone, and every other cluster's instances would be ours.
        raise ConfigError(f"--cluster-tag {relay.cluster_tag}: write KEY, or KEY=VALUE with both")
    if is_gcp:
        require_gcp(relay)
    else:
        require_aws(relay)
    # Blocks, and says before anything is read what a handler lacks.
    handler = None if relay.handler == nodes.WORD else make_handler(relay.handler)
    try:
        asyncio.run(_serve(config, handler))
    except ExceptionGroup as errors:
        gone, others = errors.split(ReaderGone)
        if gone is None or others is not None:
            raise
        raise StartFailed(
            "standard output: nobody reads it any more. What was in hand stays in the queue; "
            "start the relay again with a reader"
        ) from errors


async def _serve(config: Config, handler: Handler | None) -> None:
    stop = stop_event()
    metrics = Metrics()
    await asyncio.to_thread(metrics.tell_version)
    async with contextlib.AsyncExitStack() as stack:
        handling = (
            await stack.enter_async_context(
                nodes.opened_nodes(config.of(KubernetesConfig), metrics)
            )
            if handler is None
            else Handling(handler)
        )
        delivery = Delivery(handling.handler, metrics, now)
        url = config.relay.queue_url
        opened = await stack.enter_async_context(
            opened_gcp(config, delivery, metrics, stop)
            if url is None
            else opened_aws(config, url, delivery, metrics, handling.is_drained)
        )
        healths = (*opened.healths, *handling.healths)
        probes = Probes(healths, metrics, config.faces.blind_limit_s, now)
        routes = {
            "/healthz": probes.healthz,
            "/readyz": probes.readyz,
            "/metrics": probes.metrics,
        }
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            showing = group.create_task(keep_serving(routes, config.faces.listen, bound))
            keepers = (*handling.keepers, *opened.keepers)
            keeping = [group.create_task(keep()) for keep in keepers]
            log.info("ready listen=%s queue=%s", await bound, opened.what)
            notify("READY=1")
            await _relay(opened, stop)
            for task in (*keeping, showing):
                task.cancel()
    log.info("stopped")


async def _relay(opened: Opened, stop: asyncio.Event) -> None:
    """Move notices until told to stop, and end what is in hand if that is quick."""
    if opened.queue is None:
        await stop.wait()
        return
    await opened.queue.relay.run(stop)
    notify("STOPPING=1")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_LIMIT_S):
            await opened.queue.custody.emptied()
