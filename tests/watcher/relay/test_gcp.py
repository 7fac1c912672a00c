"""The relay on Google Cloud as a process, against Google's emulator and an API on loopback."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.gcp_bodies import body, changed, said
from tests.support.pubsub_emulator import Emulator
from tests.support.scripted_google import ME, ScriptedGoogle
from watcher.config import Config, RelayConfig
from watcher.errors import ConfigError
from watcher.relay.command import run

ZONE = "/compute/v1/projects/my-proj/zones/europe-west1-b"
SUBSCRIPTION = "projects/my-proj/subscriptions/reprieve-relay"
SQS = "https://sqs.eu-west-1.amazonaws.com/123456789012/fleet"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (RelayConfig(), "--subscription or REPRIEVE_RELAY_SUBSCRIPTION"),
        (RelayConfig(queue_url=SQS, subscription=SUBSCRIPTION), "one relay reads one cloud"),
        (RelayConfig(queue_url=SQS, gcp_fleet="my-proj/a"), "one relay reads one cloud"),
        (RelayConfig(subscription=SUBSCRIPTION, shared_queue=True), "can't be shared"),
        (RelayConfig(gcp_fleet="my-proj/a", cluster_tag="a="), "write KEY, or"),
    ],
)
def test_relay_is_refused_when_its_settings_do_not_fit(config: RelayConfig, message: str) -> None:
    """In one line that names what to set, before anything is read."""
    with pytest.raises(ConfigError, match=message):
        run(Config(relay=config))


@asynccontextmanager
async def relay_process(
    google: ScriptedGoogle, handler: Path, pubsub: str, *arguments: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run ``reprieve-watcher relay`` in the block; it has to end in order."""
    host = google.url.removeprefix("http://")
    environment = {
        "REPRIEVE_GCP_METADATA_ENDPOINT": google.url,
        "REPRIEVE_GCP_PUBSUB_ENDPOINT": pubsub,
        "REPRIEVE_GCP_COMPUTE_ENDPOINT": google.url,
        "GCE_METADATA_HOST": host,
        "GCE_METADATA_IP": host,
        "CLOUDSDK_CONFIG": str(handler.parent),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "watcher", "relay", "--listen=127.0.0.1:0"),
        *(f"--handler={handler}", *arguments),
        env={**os.environ, **environment},
    )
    try:
        yield process
        # Both pulls are waiting, for longer than a minute.
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def lines(file: Path) -> list[dict[str, object]]:
    """Return what the handler has got."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.e2e
async def test_entries_of_a_fleet_are_handed_over_and_acknowledged(
    google: ScriptedGoogle, emulator: Emulator, tmp_path: Path
) -> None:
    """Each VM's; what is no entry is left."""
    subscribed = await emulator.subscription()
    file = tmp_path / "notices"
    other = json.dumps(changed("entry-preempted", "resource/labels/instance_id", "7"))
    await subscribed.publish(body("entry-preempted"), other, "not Google's")
    name = f"--subscription={subscribed.name}"
    async with relay_process(google, file, emulator.url, name):
        await eventually(lambda: len(lines(file)) == 2)
    assert {(one["instance_id"], one["kind"], one["source"]) for one in lines(file)} == {
        (ME, "preemption", "gcp_pubsub"),
        ("7", "preemption", "gcp_pubsub"),
    }


@pytest.mark.e2e
async def test_preemption_is_handed_over_once_when_log_and_operation_tell_it(
    google: ScriptedGoogle, emulator: Emulator, tmp_path: Path
) -> None:
    """Beside the ends of the fleet that are known ahead."""
    subscribed = await emulator.subscription()
    file = tmp_path / "notices"
    operation = {
        "name": "systemevent-1764497100000-abc",
        "operationType": "compute.instances.preempted",
        "targetId": ME,
        "insertTime": "2999-01-01T00:00:00Z",
    }
    vms = {"kind": "compute#instanceList", "items": [said("instance-flex-start")]}
    google.play(f"{ZONE}/instances", (200, vms))
    google.play(
        f"{ZONE}/operations", (200, {"kind": "compute#operationList", "items": [operation]})
    )
    fleet = ("--gcp-fleet=my-proj/europe-west1-b", "--cluster-tag=cluster=a")
    name = f"--subscription={subscribed.name}"
    async with relay_process(google, file, emulator.url, name, *fleet):
        await eventually(lambda: len(lines(file)) == 3)
        await subscribed.publish(
            body("entry-preempted"),
            json.dumps(changed("entry-preempted", "operation/id", "a later one")),
        )
        await eventually(lambda: len(lines(file)) == 4)
    kinds = [str(one["kind"]) for one in lines(file)]
    assert sorted(kinds) == ["capacity_end", "maintenance", "preemption", "preemption"]
    assert len({one["id"] for one in lines(file)}) == 4
    assert await subscribed.waiting() == 0
