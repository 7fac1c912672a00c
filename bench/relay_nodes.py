"""How long a relay takes to write a thousand notices that come at once on their Nodes.

1,000 notices to 1,000 instances, each of which is a Node of an API server on a core of its own, a
model of the real one. From the first notice in hand until every Node has its annotation:

  ours        what the relay does once it has read its queue, with --handler kubernetes
  five_a_s    the common way: ten workers, each reads the Node and writes it, through a client that
              allows five requests a second after the first ten; for 40 notices, so that it ends

What the queue takes is relay_burst.py's; here are no messages. The last line is one JSON object.
Exit status 1 when the target is missed: ours takes more than 10 s in the median, and the whole 95 %
interval of the median lies above that.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from lab.intervals import Interval, median_interval
from lab.kube import TOKEN, kube_server
from lab.machine import machine
from lab.sizes import parsed

from watcher.kube.client import KubeClient
from watcher.kube.keys import NOTICE
from watcher.kube.node import NODES, NodeApi
from watcher.kube.objects import items_of
from watcher.kube.place import Place
from watcher.metrics import Metrics
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.process import now
from watcher.relay.delivery import Delivery
from watcher.relay.nodes import opened_nodes
from watcher.sources.kubernetes_config import KubernetesConfig
from watcher.sources.reading import ForInstance

TARGET_S = 10.0
"""design.md 7: 1,000 notices in one burst."""

LIMIT_S = 120.0
"""For one burst of ours: one that takes longer has no figure, it hangs."""

NOTICES = 1000
OURS, FIVE_A_S = "ours", "five_a_s"
PREFIX = "aws:///us-east-1b/i-"
PEER_NOTICES, PEER_WORKERS, PEER_QPS, PEER_BURST = 40, 10, 5.0, 10
"""Source: aws-node-termination-handler, pkg/config/config.go, workers, kube-api-qps and
kube-api-burst (read 2026-11-30)."""


def main() -> None:
    """Measure, show the figures, and end the process with 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="bursts (%(default)s)")
    rounds = parsed(parser, rounds=1).rounds
    if rounds < 1:
        parser.error("--rounds has to be at least 1")
    core = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory:
        token_file = Path(directory) / "token"
        token_file.write_text(TOKEN)
        samples = [relayed_s(number, token_file, core) for number in range(rounds)]
        with kube_server(PREFIX, PEER_NOTICES, core) as api:
            peer_s = asyncio.run(five_a_second(Place(api, token_file)))
    ours = median_interval(samples)
    is_missed = ours.is_beyond(TARGET_S)
    print(table(ours, peer_s))
    result = {
        "bench": "relay_nodes",
        "target": {"way": OURS, "median_s": TARGET_S},
        "missed": is_missed,
        "notices": NOTICES,
        "rounds": rounds,
        "seconds": {OURS: ours.to_json()},
        f"seconds_for_{PEER_NOTICES}": {FIVE_A_S: round(peer_s, 4)},
        "notices_per_s": {
            OURS: round(NOTICES / ours.median, 2),
            FIVE_A_S: round(PEER_NOTICES / peer_s, 2),
        },
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if is_missed else 0)


def relayed_s(number: int, token_file: Path, core: int) -> float:
    """Return the seconds of one burst, and show them."""
    print(f"round {number + 1}: {OURS} ...", end=" ", flush=True, file=sys.stderr)
    with kube_server(PREFIX, NOTICES, core) as api:
        took_s = asyncio.run(relay_all(Place(api, token_file)))
    print(f"{took_s:.2f} s", file=sys.stderr)
    return took_s


async def relay_all(place: Place) -> float:
    """Return the seconds from the first notice until all of them are on Nodes."""
    metrics = Metrics()
    config = KubernetesConfig(url=place.url, token_file=place.token_file)
    async with (
        asyncio.timeout(LIMIT_S),
        opened_nodes(config, metrics) as handling,
        asyncio.TaskGroup() as group,
    ):
        keeping = [group.create_task(keep()) for keep in handling.keepers]
        delivery = Delivery(handling.handler, metrics, now)
        [health] = handling.healths
        while health.blind_since():  # noqa: ASYNC110 - the list of Nodes has no event
            await asyncio.sleep(0.01)
        began = perf_counter()
        are_done = await asyncio.gather(*(delivery.deliver(warning(n)) for n in range(NOTICES)))
        took_s = perf_counter() - began
        for task in keeping:
            task.cancel()
    check(sum(are_done), await annotated(place))
    return took_s


def warning(number: int) -> ForInstance:
    """Return a Spot warning as the relay has read it."""
    seen, instance_id = now(), f"i-{number:017x}"
    notice = Notice(
        id=f"aws-spot-terminate-{instance_id}",
        kind=NoticeKind.PREEMPTION,
        source="aws_sqs",
        received=seen,
        deadline=Deadline.after(seen, 120),
        action="terminate",
        instance_id=instance_id,
    )
    return ForInstance(notice=notice, instance_id=instance_id)


async def annotated(place: Place) -> int:
    """Return how many Nodes have the relay's word."""
    async with KubeClient(place, None, limit_s=60.0) as client:
        nodes, _ = items_of(await client.get(NODES))
    return sum(NOTICE in node["metadata"].get("annotations", {}) for node in nodes)


def check(done: int, marked: int) -> None:
    """Make sure that a figure is one of the whole work.

    Raises:
        RuntimeError: A notice or a Node was forgotten.
    """
    if (done, marked) != (NOTICES, NOTICES):
        raise RuntimeError(f"{done} of {NOTICES} notices are done, on {marked} Nodes")


async def five_a_second(place: Place) -> float:
    """Return the seconds that the common way takes for PEER_NOTICES."""
    turn = asyncio.Semaphore(PEER_WORKERS)
    bucket = Bucket()
    async with KubeClient(place, None) as client:

        async def mark(number: int) -> None:
            api = NodeApi(client, f"node-{number}")
            async with turn:
                await bucket.take()  # edit() reads the Node and writes it
                await bucket.take()
                await api.edit(lambda _: {"metadata": {"annotations": {NOTICE: "{}"}}})

        began = perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(PEER_NOTICES):
                group.create_task(mark(number))
        return perf_counter() - began


class Bucket:
    """Lets so many requests through a second, after a first burst."""

    def __init__(self) -> None:
        self._free_at = 0.0

    async def take(self) -> None:
        """Wait for one's turn."""
        clock = asyncio.get_running_loop().time
        earliest = clock() - PEER_BURST / PEER_QPS
        self._free_at = max(self._free_at, earliest) + 1 / PEER_QPS
        await asyncio.sleep(self._free_at - clock())


def table(ours: Interval, peer_s: float) -> str:
    """Return the figures for people."""
    spread = f"({ours.low:.2f} to {ours.high:.2f})"
    return "\n".join(
        (
            f"{'':14}notices   s, median (95 %)",
            f"  {OURS:12}{NOTICES:7}{ours.median:8.2f}  {spread}",
            f"  {FIVE_A_S:12}{PEER_NOTICES:7}{peer_s:8.2f}",
        )
    )


if __name__ == "__main__":
    main()
