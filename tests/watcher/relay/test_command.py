"""The relay as processes, as a user starts them: two side by side, one of them killed."""

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.moto_aws import Moto, spot_warning
from tests.support.moto_proxy import without_deletes
from tests.support.relay_process import relay_process
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


def test_relay_is_refused_when_its_handler_is_a_directory(tmp_path: Path) -> None:
    """At the start, not when the first notice is to be written."""
    with pytest.raises(ConfigError, match="is a directory; name a file in it"):
        run(Config(relay=RelayConfig(queue_url=QUEUE, handler=str(tmp_path))))


def instances(file: Path) -> Callable[[], Counter[str]]:
    """Return what counts the instances in a file of JSON lines."""

    def count() -> Counter[str]:
        lines = file.read_text().splitlines() if file.exists() else []
        return Counter(json.loads(line)["instance_id"] for line in lines)

    return count


@pytest.mark.slow
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


@pytest.mark.e2e
@pytest.mark.slow  # the visibility has to run out
async def test_notice_is_handled_again_when_its_relay_is_killed_before_the_delete(
    moto: Moto, tmp_path: Path
) -> None:
    """Twice for the handler, under one id, and never not at all."""
    url = await asyncio.to_thread(moto.queue)
    file = tmp_path / "notices.jsonl"
    await asyncio.to_thread(moto.send, url, [spot_warning("i-1")])
    async with without_deletes(moto) as proxy:
        async with relay_process(url, file, AWS_ENDPOINT_URL=proxy.url) as first:
            async with asyncio.timeout(20):
                await proxy.held.wait()
            assert instances(file)() == {"i-1": 1}
            first.send_signal(signal.SIGKILL)
            await first.wait()
        await moto.becomes(url, (0, 1))
    async with relay_process(url, file):
        async with asyncio.timeout(40):
            await eventually_all(instances(file), 1, times=2)
        await moto.becomes(url, (0, 0))
    once, again = (json.loads(line) for line in file.read_text().splitlines())
    assert once["id"] == again["id"]


@pytest.mark.e2e
async def test_relay_ends_in_one_line_when_nobody_reads_its_standard_output(moto: Moto) -> None:
    """With status 1, and with the message still in the queue for whoever is started next."""
    url = await asyncio.to_thread(moto.queue)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        async with relay_process(url, "-", writing, asyncio.subprocess.PIPE) as relay:
            await asyncio.to_thread(moto.send, url, [spot_warning("i-1")])
            async with asyncio.timeout(30):
                _, said = await relay.communicate()
    finally:
        os.close(writing)
    assert relay.returncode == 1
    assert b"Traceback" not in said
    refusal = b"reprieve-watcher: standard output: nobody reads it"  # log lines may come after it
    assert len([line for line in said.splitlines() if line.startswith(refusal)]) == 1
    assert await asyncio.to_thread(moto.counts, url) == (0, 1)


async def eventually_all(count: Callable[[], Counter[str]], wanted: int, times: int = 1) -> None:
    """Wait until so many instances are there; longer than a visibility of ten seconds."""
    while True:
        counted = await asyncio.to_thread(count)
        if len(counted) >= wanted and min(counted.values()) >= times:
            return
        await asyncio.sleep(0.1)
