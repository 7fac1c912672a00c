"""A relay on a queue of moto's, with a handler that records, and fails as told."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, closing

from tests.support.clocks import TurnedClock, eventually
from tests.support.moto_aws import Moto
from tests.support.queued_node import ToldEc2
from tests.support.running import running
from watcher.aws.ec2 import Ec2
from watcher.aws.sqs import SqsQueue
from watcher.custody import Custody
from watcher.errors import WatcherError
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.relay.addressees import Addressees
from watcher.relay.delivery import Delivery
from watcher.relay.hooks import Hooks
from watcher.relay.relay import VISIBILITY_S, Parts, Relay
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.intake import Intake
from watcher.sources.reading import ForInstance
from watcher.sources.reception import KEYS, Reception


class Recorder:
    """A handler that counts by instance, and fails for those it is told."""

    def __init__(self) -> None:
        self.handled: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self.fails_for = dict[str, WatcherError]()
        self.may_finish = asyncio.Event()
        self.may_finish.set()

    async def handle(self, told: ForInstance, /) -> None:
        """Count it."""
        self.tried[told.instance_id] += 1
        await self.may_finish.wait()
        if told.instance_id in self.fails_for:
            raise self.fails_for[told.instance_id]
        self.handled[told.instance_id] += 1


class RelayedQueue:
    """A queue, its relay, and what the handler got."""

    def __init__(self, moto: Moto, url: str, clock: TurnedClock) -> None:
        self.moto, self.url, self.clock = moto, url, clock
        self.metrics, self.handler, self.ec2 = Metrics(), Recorder(), ToldEc2()
        self.health = SourceHealth("aws_sqs", KEYS, clock(), self.metrics)
        self.stop = asyncio.Event()

    async def send(self, *bodies: str) -> None:
        """Put messages into the queue."""
        await asyncio.to_thread(self.moto.send, self.url, bodies)

    async def has(self, seen: int, hidden: int) -> None:
        """Wait until so many messages of the queue can be received and are hidden."""
        await self.moto.becomes(self.url, (seen, hidden))

    def count(self, verdict: str) -> float:
        """Return how many messages were given a verdict."""
        name = "reprieve_messages_total"
        return self.metrics.registry.get_sample_value(name, {"verdict": verdict}) or 0

    async def told(self, verdict: str, times: int = 1) -> None:
        """Wait until so many messages were given a verdict."""
        await eventually(lambda: self.count(verdict) >= times)


@asynccontextmanager
async def relaying(  # noqa: PLR0913 - what few tests need has a default
    moto: Moto,
    clock: TurnedClock,
    *,
    tag: str | None = None,
    readers: int = 1,
    url: str = "",
    ec2: Ec2 | None = None,
    hooks: Hooks | None = None,
) -> AsyncIterator[RelayedQueue]:
    """Run a relay inside the block, on a new queue; it is told to stop at the end, and has to."""
    relayed = RelayedQueue(moto, url or await asyncio.to_thread(moto.queue), clock)
    with ExitStack() as stack:
        queues = [stack.enter_context(closing(SqsQueue(relayed.url))) for _ in range(readers)]
        custody = Custody(queues[0], VISIBILITY_S, relayed.metrics.messages_held)
        parts = Parts(
            readers=[Reception(queue, 1, relayed.health, clock) for queue in queues],
            intake=Intake(parse_message, relayed.metrics, clock),
            custody=custody,
            addressees=Addressees(ec2 or relayed.ec2, tag, clock),
            delivery=Delivery(relayed.handler, relayed.metrics, clock),
            hooks=hooks,
        )
        async with running(custody.keep()):
            relay = asyncio.create_task(Relay(parts, relayed.health, clock).run(relayed.stop))
            try:
                yield relayed
            finally:
                relayed.stop.set()
                async with asyncio.timeout(20):
                    await relay
                    await custody.emptied()
