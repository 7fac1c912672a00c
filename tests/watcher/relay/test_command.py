"""The relay as processes, as a user starts them: two side by side, one of them killed."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.moto_aws import Moto, spot_warning
from watcher.config import Config, RelayConfig
from watcher.errors import ConfigError
from watcher.relay.command import run

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/fleet"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (RelayConfig(), "REPRIEVE_RELAY_QUEUE_URL"),
        (RelayConfig(queue_url=QUEUE, shared_queue=True), "--cluster-tag"),
        (RelayConfig(queue_url=QUEUE, shared_queue=True, cluster_tag="team="), "write KEY, or"),
        (RelayConfig(queue_url=QUEUE, shared_queue=True, cluster_tag="=blue"), "write KEY, or"),
    ],
)
def test_relay_is_refused_when_a_setting_is_missing_or_half(
    config: RelayConfig, message: str
) -> None:
    """In one line that names what sets it, before anything is read."""
    with pytest.raises(ConfigError, match=message):
        run(Config(relay=config))


@asynccontextmanager
async def relay_process(queue_url: str, handler: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run ``reprieve-watcher relay`` in the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "watcher", "relay", "--listen=127.0.0.1:0"),
        f"--queue-url={queue_url}",
        f"--handler={handler}",
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def instances(file: Path) -> Callable[[], Counter[str]]:
    """Return what counts the instances in a file of JSON lines."""

    def count() -> Counter[str]:
        lines = file.read_text().splitlines() if file.exists() else []
        return Counter(json.loads(line)["instance_id"] for line in lines)

    return count


@pytest.mark.e2e
async def test_other_relay_handles_everything_when_one_is_killed_with_its_hands_full(
    moto: Moto, tmp_path: Path
) -> None:
    """The first holds a hundred messages and can't finish one, because nobody reads its pipe."""
    url = await asyncio.to_thread(moto.queue)
    names = [f"i-{number:017x}" for number in range(100)]
    pipe, file = tmp_path / "pipe", tmp_path / "notices.jsonl"
    os.mkfifo(pipe)
    await asyncio.to_thread(moto.send, url, [spot_warning(name) for name in names])
    async with relay_process(url, pipe) as first:
        await moto.becomes(url, (0, 100))
        async with relay_process(url, file) as second:
            first.send_signal(signal.SIGKILL)
            await first.wait()
            count = instances(file)
            async with asyncio.timeout(40):
                await eventually_all(count, 100)
                await moto.becomes(url, (0, 0))
            assert count() == Counter(names)
            second.terminate()
            async with asyncio.timeout(20):
                assert await second.wait() == 0


async def eventually_all(count: Callable[[], Counter[str]], wanted: int) -> None:
    """Wait until so many instances are there; longer than a visibility of ten seconds."""
    while len(await asyncio.to_thread(count)) < wanted:  # noqa: ASYNC110 - another process's file
        await asyncio.sleep(0.1)
