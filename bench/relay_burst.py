"""How long a relay takes for a thousand notices that come at once.

1,000 Spot warnings for 1,000 instances are put into a queue of moto's as fast as it takes them,
moto having one core. From the first one on until every notice was handled once and the queue is
empty, in turns in the same run:

  ours        the relay as it is deployed, its handler only counting
  one_by_one  the common way: receive ten, handle each, delete each by a call of its own, and then
              receive again; without the pause of 2 s that the common handler makes after each ten

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

from lab.intervals import Interval, median_interval, ratio_interval
from lab.machine import machine
from lab.moto import CREDENTIALS, REGION, moto_server

from watcher.aws.boto import LazyClient
from watcher.aws.ec2 import Ec2
from watcher.aws.sqs import SqsQueue
from watcher.custody import Custody
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.process import now
from watcher.relay.addressees import Addressees
from watcher.relay.command import READERS
from watcher.relay.delivery import Delivery
from watcher.relay.relay import POLL_S, VISIBILITY_S, Parts, Relay
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.intake import Intake
from watcher.sources.reading import ForInstance, Notices
from watcher.sources.reception import KEYS, Reception

OURS = "ours"
TARGET_S = 10.0
"""design.md 7: 1,000 notices in one burst."""

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
        "--rounds", type=int, default=5, metavar="N", help="bursts for each way (%(default)s)"
    )
    rounds = parser.parse_args().rounds
    if rounds < 1:
        parser.error("--rounds has to be at least 1")
    core = min(os.sched_getaffinity(0))
    with moto_server(core) as url:
        os.environ |= {**CREDENTIALS, "AWS_ENDPOINT_URL": url}
        samples = measure(rounds)
    figures = {name: median_interval(seconds) for name, seconds in samples.items()}
    times = ratio_interval(samples["one_by_one"], samples[OURS])
    is_missed = figures[OURS].is_beyond(TARGET_S)
    print(table(figures, times))
    result = {
        "bench": "relay_burst",
        "target": {"way": OURS, "median_s": TARGET_S},
        "missed": is_missed,
        "messages": MESSAGES,
        "rounds": rounds,
        "seconds": {name: interval.to_json() for name, interval in figures.items()},
        "times_ours": {"one_by_one": times.to_json()},
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if is_missed else 0)


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each burst, by way; each round has both, and begins with another."""
    ways: list[tuple[str, Way]] = [(OURS, relay_all), ("one_by_one", handle_one_by_one)]
    samples: dict[str, list[float]] = {name: [] for name, _ in ways}
    for number in range(rounds):
        for name, way in ways[:: 1 if number % 2 == 0 else -1]:
            with burst(f"{name}-{number}") as url:
                samples[name].append(asyncio.run(way(url)))
            print(f"round {number + 1}: {name} {samples[name][-1]:.2f} s", file=sys.stderr)
    return samples


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
        keeping = asyncio.create_task(custody.keep())
        began = perf_counter()
        relaying = asyncio.create_task(Relay(parts, health, now).run(stop))
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


def table(figures: dict[str, Interval], times: Interval) -> str:
    """Return the figures for people, the fastest first."""
    lines = [f"{MESSAGES} notices       s, median (95 %)"]
    for name, seconds in sorted(figures.items(), key=lambda item: item[1].median):
        lines.append(f"  {name:12}{seconds.median:8.2f}  ({seconds.low:.2f} to {seconds.high:.2f})")
    spread = f"{times.low:.1f} to {times.high:.1f}"
    lines.append(f"one by one takes {times.median:.1f} times ours ({spread})")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
