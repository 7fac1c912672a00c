"""A node's source on a queue of moto's, with what the daemon would run beside it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing

from lab.moto import REGION

from tests.support.clocks import TurnedClock, eventually
from tests.support.moto_aws import Moto
from tests.support.running import running
from watcher.aws.ec2 import Ec2, Member
from watcher.aws.sqs import LONG_POLL_S, SqsQueue
from watcher.custody import Custody
from watcher.errors import AwsCallFailed
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.aws_recipient import Recipient
from watcher.sources.aws_sqs import NAME, AwsSqs, Hands
from watcher.sources.intake import Intake
from watcher.sources.reception import KEYS, Reception
from watcher.supervise import keep_running

ME = "i-0abc000000000001"


class ToldEc2(Ec2):
    """EC2 that says what the test has told it; None stands for a refusal."""

    def __init__(self, members: Sequence[Member] | None = ()) -> None:
        super().__init__(REGION)
        self.told = members
        self.tags: dict[str, str] | None = {}
        self.questions: list[Sequence[str]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def members(self, reservation_id: str, instance_id: str | None = None) -> list[Member]:
        """Return those told, or the one asked for."""
        self.questions.append([reservation_id])
        assert self.may_answer.wait(30)
        if self.told is None:
            raise AwsCallFailed("EC2 DescribeInstances: no", outcome="forbidden")
        return [one for one in self.told if instance_id in (None, one.instance_id)]

    def tagged(self, instance_ids: Sequence[str], key: str, value: str | None) -> set[str]:
        """Return those whose tag was told."""
        self.questions.append(instance_ids)
        assert self.may_answer.wait(30)
        if self.tags is None:
            raise AwsCallFailed("EC2 DescribeInstances: no", outcome="forbidden")
        wanted = key if value is None else f"{key}={value}"
        return {one for one in instance_ids if self.tags.get(one, "").startswith(wanted)}


class QueuedNode:
    """The source, what it has heard, and its queue."""

    def __init__(self, moto: Moto, url: str, queue: SqsQueue, clock: TurnedClock) -> None:
        self.moto, self.url, self.clock = moto, url, clock
        self.queue = queue
        self.me: str | None = ME
        self.ec2 = ToldEc2()
        self.metrics = Metrics()
        self.inbox: asyncio.Queue[Notice] = asyncio.Queue()
        self.health = SourceHealth(NAME, KEYS, clock(), self.metrics)
        self.hands = Hands(
            reception=Reception(queue, LONG_POLL_S, self.health, clock),
            custody=Custody(queue, 30, self.metrics.messages_held),
            intake=Intake(parse_message, self.metrics, clock),
            hooks={},
            hook_wait_s=None,
        )

    def source(self, adopted: tuple[Notice, ...] = ()) -> AwsSqs:
        """Build the source."""
        recipient = Recipient(lambda: self.me, self.ec2)
        return AwsSqs(self.hands, recipient, self.health, self.clock, adopted)

    async def send(self, *bodies: str) -> None:
        """Put messages into the queue."""
        await asyncio.to_thread(self.moto.send, self.url, bodies)

    async def heard(self) -> Notice:
        """Return the next notice."""
        async with asyncio.timeout(20):
            return await self.inbox.get()

    async def told(self, verdict: str, times: int = 1) -> None:
        """Wait until so many messages were given a verdict."""
        await eventually(lambda: self.count(verdict) >= times)

    def count(self, verdict: str) -> float:
        """Return how many messages were given a verdict."""
        name = "reprieve_messages_total"
        return self.metrics.registry.get_sample_value(name, {"verdict": verdict}) or 0

    async def has(self, seen: int, hidden: int) -> None:
        """Wait until so many messages of the queue can be received and are hidden."""
        await self.moto.becomes(self.url, (seen, hidden))


@asynccontextmanager
async def queued_node(moto: Moto, clock: TurnedClock) -> AsyncIterator[QueuedNode]:
    """Give a node whose custody is at work."""
    url = await asyncio.to_thread(moto.queue)
    with closing(SqsQueue(url)) as queue:
        node = QueuedNode(moto, url, queue, clock)
        async with running(node.hands.custody.keep()):
            yield node


@asynccontextmanager
async def hearing(node: QueuedNode, source: AwsSqs) -> AsyncIterator[AwsSqs]:
    """Let the source hear inside the block."""
    async with running(keep_running(source, node.inbox, node.clock)):
        yield source
