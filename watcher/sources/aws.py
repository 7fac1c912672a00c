"""All that AWS tells one node: the metadata service, and beside it the node's own queue, if any.

The two roads know nothing of each other. A fact that comes by both is two notices of one instance:
the flag file shows the one with the earlier deadline and names the other.
"""

import contextlib
from collections.abc import Callable, Collection, Coroutine
from types import TracebackType
from typing import Self

from watcher.aws.boto import require_boto3
from watcher.aws.custody import Custody
from watcher.aws.ec2 import Ec2
from watcher.aws.hook import LifecycleHook
from watcher.aws.sqs import LONG_POLL_S, SqsQueue, region_of
from watcher.config import AwsConfig
from watcher.errors import ConfigError
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Moment, Notice, NoticeKind
from watcher.sources.aws_imds import AwsImds
from watcher.sources.aws_intake import Intake
from watcher.sources.aws_reception import Reception
from watcher.sources.aws_recipient import Recipient
from watcher.sources.aws_sqs import VISIBILITY_S, AwsSqs, Hands
from watcher.sources.base import Source


class AwsRoads:
    """The AWS sources of one node, open from here to the end of the block.

    Args:
        config: Which of them are wanted, and how they are reached.
        metrics: What counts their messages and fetches.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.

    Attributes:
        healths: One for each source.
        sources: What is to be heard, each by itself; empty before the block.
        keepers: What else has to run meanwhile.
        hooks: Auto-scaling hooks that wait, by the id of the notice that told of them.
    """

    def __init__(
        self,
        config: AwsConfig,
        metrics: Metrics,
        now: Callable[[], Moment],
        adopted: tuple[Notice, ...],
    ) -> None:
        self._config = config
        self._metrics = metrics
        self._now = now
        self._adopted = adopted
        self._stack = contextlib.AsyncExitStack()
        self._health = {
            source.name: SourceHealth(source.name, source.keys, now(), metrics)
            for source in _wanted(config)
        }
        self.healths = tuple(self._health.values())
        self.sources = list[Source]()
        self.keepers = list[Callable[[], Coroutine[None, None, None]]]()
        self.hooks = dict[str, LifecycleHook]()

    async def __aenter__(self) -> Self:
        imds = await self._open_imds() if AwsImds.name in self._health else None
        if self._config.queue_url is not None:
            self._open_queue(self._config.queue_url, imds)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    def acknowledge(self, notice: Notice) -> None:
        """Tell the source of a notice that all is done about it."""
        for source in self.sources:
            if source.name == notice.source:
                source.acknowledge(notice)

    async def _open_imds(self) -> AwsImds:
        config = self._config
        clients = [HttpClient(config.metadata_endpoint, config.metadata_limit_s) for _ in range(2)]
        spot, rest = [await self._stack.enter_async_context(client) for client in clients]
        imds = AwsImds(
            (spot, rest),
            self._health[AwsImds.name],
            self._now,
            self._left_by(AwsImds.name),
            may_use_v1=config.metadata_v1 == "on",
        )
        self.sources += imds.lanes
        return imds

    def _open_queue(self, url: str, imds: AwsImds | None) -> None:
        queue = self._stack.enter_context(contextlib.closing(SqsQueue(url)))
        ec2 = self._stack.enter_context(contextlib.closing(Ec2(region_of(url))))
        health = self._health[AwsSqs.name]
        hands = Hands(
            reception=Reception(queue, LONG_POLL_S, health, self._now),
            custody=Custody(queue, VISIBILITY_S, self._metrics.messages_held),
            intake=Intake(self._metrics, self._now),
            hooks=self.hooks,
            hook_wait_s=self._config.hook_wait_s,
        )

        def who() -> str | None:
            return self._config.instance_id or (imds.instance.instance_id if imds else None)

        adopted = self._left_by(AwsSqs.name)
        self.sources.append(AwsSqs(hands, Recipient(who, ec2), health, self._now, adopted))
        self.keepers.append(hands.custody.keep)

    def _left_by(self, name: str) -> tuple[Notice, ...]:
        return tuple(notice for notice in self._adopted if notice.source == name)


def enabled(config: AwsConfig) -> dict[str, Collection[NoticeKind]]:
    """Return the sources that the settings ask for, by name, with the kinds each can tell of.

    Raises:
        ConfigError: There is none, or one lacks what it needs.
    """
    if config.metadata == "off" and config.queue_url is None:
        raise ConfigError(
            "the metadata service is switched off (aws.metadata, AWS_EC2_METADATA_DISABLED), so "
            "there is nothing to hear; set REPRIEVE_AWS_METADATA=on if that was not meant for this"
        )
    if config.queue_url is not None:
        require_boto3("aws.queue_url")
        if config.metadata == "off" and config.instance_id is None:
            raise ConfigError("without the metadata service a queue needs aws.instance_id")
    return {source.name: source.kinds for source in _wanted(config)}


def _wanted(config: AwsConfig) -> list[type[AwsImds | AwsSqs]]:
    wanted: list[type[AwsImds | AwsSqs]] = []
    wanted += [AwsImds] if config.metadata == "on" else []
    wanted += [AwsSqs] if config.queue_url is not None else []
    return wanted
