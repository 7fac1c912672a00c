"""How long a relay takes for a thousand notices that come at once.

1,000 Spot warnings for 1,000 instances are put into a queue of moto's as fast as it takes them,
moto having one core. From the first one on until every notice was handled once and the queue is
empty, in the same run:

  ours        the relay as it is deployed, its handler only counting
  one_by_one  the common way: receive ten, handle each, delete each by a call of its own, and then
              receive again; without the pause of 2 s that the common handler makes after each ten.
              It takes half a minute, so it has one burst only, between ours

Most of the time is moto's: to give out one message it looks at every other one in the queue, so who
lets the queue grow pays for it. SQS itself does not.

The last line is one JSON object. Exit status 1 when the target is missed: ours takes more than
10 s in the median, and the whole 95 % interval of the median lies above that.
"""

import argparse
import asyncio
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, closing, contextmanager
from time import perf_counter
from typing import Any

from lab.intervals import Interval, median_interval
from lab.machine import machine
from lab.moto import CREDENTIALS, REGION, moto_server
from lab.sizes import parsed

from watcher.aws.boto import LazyClient
from watcher.aws.ec2 import Ec2
from watcher.aws.sqs import SqsQueue
from watcher.custody import Custody
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.process import now
from watcher.relay.addressees import Addressees
from watcher.relay.aws import READERS
from watcher.relay.delivery import Delivery
from watcher.relay.relay import POLL_S, VISIBILITY_S, Parts, Relay
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.intake import Intake
from watcher.sources.reading import ForInstance, Notices
from watcher.sources.reception import KEYS, Reception

OURS = "ours"
ONE_BY_ONE = "one_by_one"
TARGET_S = 10.0
"""design.md 7: 1,000 notices in one burst."""

LIMIT_S = 120.0
"""For one burst of ours: one that takes longer has no figure, it hangs."""

MESSAGES = 1000
INSTANCES = [f"i-{number:017x}" for number in range(MESSAGES)]


Way = Callable[[str], Coroutine[None, None, float]]
"""Handles what comes into a queue, and returns the seconds it took."""


class Counting:
    """A handler that counts, and tells when every instance was handled."""

    def __init__(self) -> None:
        self.handled: Counter[str] = Counter()
        self.all = asyncio.Event()

    async def handle(self, told: ForInstance, /) -> None:
        """Count it."""
        self.handled[told.instance_id] += 1
        if len(self.handled) == MESSAGES:
            self.all.set()


def main() -> None:
    """Measure, show the figures, and end the process with 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=3, metavar="N", help="bursts of ours (%(default)s)"
    )
    rounds = parsed(parser, rounds=1).rounds
    if rounds < 1:
        parser.error("--rounds has to be at least 1")
    core = min(os.sched_getaffinity(0))
    with moto_server(core) as url:
        os.environ |= {**CREDENTIALS, "AWS_ENDPOINT_URL": url}
        samples, one_by_one_s = measure(rounds)
    ours = median_interval(samples)
    is_missed = ours.is_beyond(TARGET_S)
    print(table(ours, one_by_one_s))
    result = {
        "bench": "relay_burst",
        "target": {"way": OURS, "median_s": TARGET_S},
        "missed": is_missed,
        "messages": MESSAGES,
        "rounds": rounds,
        "seconds": {OURS: ours.to_json(), ONE_BY_ONE: round(one_by_one_s, 4)},
        "times_ours": {ONE_BY_ONE: round(one_by_one_s / ours.median, 4)},
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if is_missed else 0)


def measure(rounds: int) -> tuple[list[float], float]:
    """Return the seconds of each burst of ours, and of the one that is handled one by one."""
    samples: list[float] = []
    one_by_one_s = 0.0
    for number in range(rounds):
        samples.append(timed(OURS, number, relay_all))
        if number == rounds // 2:
            one_by_one_s = timed(ONE_BY_ONE, number, handle_one_by_one)
    return samples, one_by_one_s


def timed(name: str, number: int, way: Way) -> float:
    """Return the seconds of one burst, and show them."""
    print(f"round {number + 1}: {name} ...", end=" ", flush=True, file=sys.stderr)
    with burst(f"{name}-{number}") as url:
        took_s = asyncio.run(way(url))
    print(f"{took_s:.2f} s", file=sys.stderr)
    return took_s


@contextmanager
def burst(name: str) -> Iterator[str]:
    """Make a queue and give its URL, while a thread puts a warning for every instance into it."""
    with closing(LazyClient("sqs", REGION)) as lazy:
        client: Any = lazy.get()
        url = str(client.create_queue(QueueName=name)["QueueUrl"])

        def send() -> None:
            for start in range(0, MESSAGES, 10):
                entries = [
                    {"Id": str(one), "MessageBody": warning(INSTANCES[one], f"{name}-{one}")}
                    for one in range(start, start + 10)
                ]
                client.send_message_batch(QueueUrl=url, Entries=entries)

        sender = threading.Thread(target=send, name="burst")
        sender.start()
        yield url
        sender.join()


def warning(instance_id: str, event_id: str) -> str:
    """Return EventBridge's event for an interruption, as it lies in a queue."""
    return json.dumps(
        {
            "version": "0",
            "id": event_id,
            "detail-type": "EC2 Spot Instance Interruption Warning",
            "source": "aws.ec2",
            "time": "2026-11-30T10:05:06Z",
            "resources": [f"arn:aws:ec2:us-east-1b:instance/{instance_id}"],
            "detail": {"instance-id": instance_id, "instance-action": "terminate"},
        }
    )


async def relay_all(url: str) -> float:
    """Return the seconds that a relay takes for what is in the queue."""
    metrics, handler, stop = Metrics(), Counting(), asyncio.Event()
    health = SourceHealth("aws_sqs", KEYS, now(), metrics)
    with ExitStack() as stack:
        queues = [stack.enter_context(closing(SqsQueue(url))) for _ in range(READERS)]
        ec2 = stack.enter_context(closing(Ec2(REGION)))
        custody = Custody(queues[0], VISIBILITY_S, metrics.messages_held)
        parts = Parts(
            readers=[Reception(queue, POLL_S, health, now) for queue in queues],
            intake=Intake(parse_message, metrics, now),
            custody=custody,
            addressees=Addressees(ec2, None, now),
            delivery=Delivery(handler, metrics, now),
        )
        async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as group:
            keeping = group.create_task(custody.keep())
            began = perf_counter()
            relaying = group.create_task(Relay(parts, health, now).run(stop))
            await handler.all.wait()
            await custody.emptied()
            took_s = perf_counter() - began
            stop.set()
            await relaying
            keeping.cancel()
    check(handler.handled)
    return took_s


async def handle_one_by_one(url: str) -> float:
    """Return the seconds that the common way takes for what is in the queue."""
    handled: Counter[str] = Counter()

    def work() -> float:
        with closing(LazyClient("sqs", REGION)) as lazy:
            client: Any = lazy.get()
            began = perf_counter()
            while sum(handled.values()) < MESSAGES:
                answer = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
                for message in answer.get("Messages", ()):
                    reading = parse_message(message["Body"], now())
                    if isinstance(reading, Notices):
                        handled.update(told.notice.instance_id or "" for told in reading.addressed)
                    client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            return perf_counter() - began

    took_s = await asyncio.to_thread(work)
    check(handled)
    return took_s


def check(handled: Counter[str]) -> None:
    """Make sure that a figure is one of the whole work.

    Raises:
        RuntimeError: An instance was forgotten, or handled twice.
    """
    if handled != Counter(INSTANCES):
        raise RuntimeError(f"{len(handled)} of {MESSAGES} instances, some perhaps twice")


def table(ours: Interval, one_by_one_s: float) -> str:
    """Return the figures for people."""
    spread = f"({ours.low:.2f} to {ours.high:.2f})"
    return "\n".join(
        (
            f"{MESSAGES} notices       s, median (95 %)",
            f"  {OURS:12}{ours.median:8.2f}  {spread}",
            f"  {ONE_BY_ONE:12}{one_by_one_s:8.2f}  (one burst)",
            f"one by one takes {one_by_one_s / ours.median:.1f} times ours",
        )
    )


if __name__ == "__main__":
    main()
