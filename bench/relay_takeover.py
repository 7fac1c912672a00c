"""How long the other relay takes for what a relay held that was killed.

Two relays read one queue of moto's, as two processes of `reprieve-watcher relay`. The first has
received 100 Spot warnings and can't finish one, because nobody reads the pipe that it writes to;
then it is killed with -9. From there on until the other one has written all 100 to its file:

  takeover  what the first held is hidden for ten seconds from when it last said so, plus the
            second's handling

The last line is one JSON object. Exit status 1 when the target is missed: a takeover lasts longer
than 15 s.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from lab.machine import machine
from lab.moto import CREDENTIALS, REGION, moto_server
from lab.sizes import parsed
from relay_burst import warning

from watcher.aws.boto import LazyClient

MESSAGES = 100
INSTANCES = [f"i-{number:017x}" for number in range(MESSAGES)]
TARGET_S = 15.0
LIMIT_S = 60.0
"""For anything that is waited for: what takes longer has no figure, it hangs."""


def main() -> None:
    """Measure, show the figures, and end the process with 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=3, metavar="N", help="relays that are killed (%(default)s)"
    )
    rounds = parsed(parser, rounds=1).rounds
    if rounds < 1:
        parser.error("--rounds has to be at least 1")
    with moto_server(min(os.sched_getaffinity(0))) as url:
        os.environ |= {**CREDENTIALS, "AWS_ENDPOINT_URL": url}
        with closing(LazyClient("sqs", REGION)) as lazy:
            samples = [takeover(lazy.get(), number) for number in range(rounds)]
    is_missed = max(samples) > TARGET_S
    print(
        f"{MESSAGES} messages of a killed relay: handled {max(samples):.2f} s later at the longest"
    )
    result = {
        "bench": "relay_takeover",
        "target": {"longest_s": TARGET_S},
        "missed": is_missed,
        "messages": MESSAGES,
        "seconds": [round(seconds, 3) for seconds in samples],
        "longest_s": round(max(samples), 3),
        "machine": machine(),
    }
    print(json.dumps(result))
    sys.exit(1 if is_missed else 0)


def takeover(client: Any, number: int) -> float:  # noqa: ANN401 - boto3 has no types
    """Return the seconds from the kill until all that the killed relay held is handled.

    Raises:
        RuntimeError: A message was handled never or twice, or something hangs.
    """
    print(f"round {number + 1}: ...", end=" ", flush=True, file=sys.stderr)
    queue_url = str(client.create_queue(QueueName=f"takeover-{number}")["QueueUrl"])
    with tempfile.TemporaryDirectory() as name:
        pipe, file = Path(name) / "pipe", Path(name) / "notices.jsonl"
        os.mkfifo(pipe)
        with relay(queue_url, pipe) as first:
            send(client, queue_url)
            until(lambda: hidden(client, queue_url) == MESSAGES, "the first holds all")
            with relay(queue_url, file) as second:
                until(lambda: "ready" in second.log.read_text(), "the second is ready")
                began = time.monotonic()
                first.process.kill()
                until(lambda: len(handled(file)) == MESSAGES, "the second has handled all")
                took_s = time.monotonic() - began
                if handled(file) != Counter(INSTANCES):
                    raise RuntimeError("some instances were told twice, or are none of ours")
    print(f"{took_s:.2f} s", file=sys.stderr)
    return took_s


class Started:
    """A relay that runs, and where it logs."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log


@contextmanager
def relay(queue_url: str, handler: Path) -> Iterator[Started]:
    """Run a relay in the block."""
    log = handler.with_suffix(".log")
    with log.open("wb") as stderr:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [
                *(sys.executable, "-m", "watcher", "relay", "--listen=127.0.0.1:0"),
                f"--queue-url={queue_url}",
                f"--handler={handler}",
            ],
            stderr=stderr,
        )
    try:
        yield Started(process, log)
    finally:
        process.kill()
        process.wait()


def send(client: Any, queue_url: str) -> None:  # noqa: ANN401 - boto3 has no types
    """Put a warning for every instance into the queue."""
    for start in range(0, MESSAGES, 10):
        entries = [
            {"Id": str(one), "MessageBody": warning(INSTANCES[one], f"event-{one}")}
            for one in range(start, start + 10)
        ]
        client.send_message_batch(QueueUrl=queue_url, Entries=entries)


def hidden(client: Any, queue_url: str) -> int:  # noqa: ANN401 - boto3 has no types
    """Return how many messages are in somebody's hands."""
    name = "ApproximateNumberOfMessagesNotVisible"
    answer = client.get_queue_attributes(QueueUrl=queue_url, AttributeNames=[name])
    return int(answer["Attributes"][name])


def handled(file: Path) -> Counter[str]:
    """Return how often each instance is in a file of JSON lines."""
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    return Counter(json.loads(line)["instance_id"] for line in lines if line.endswith(b"\n"))


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds.

    Raises:
        RuntimeError: It does not within a minute.
    """
    end = time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {LIMIT_S:.0f} s: {what}")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
