"""Google's own Pub/Sub emulator as a process, where the Google Cloud CLI has brought it."""

import base64
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import aiohttp
import pytest
from lab.child import end

from tests.support.ports import quiet_port

_JAR = "platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar"
_ROOTS = (Path("/usr/lib/google-cloud-sdk"), Path("/usr/share/google-cloud-sdk"))
_LISTENS = re.compile(r"Server started, listening on (\d+)")
_START_LIMIT_S = 60.0

PROJECT = "my-proj"


class Emulator:
    """A running emulator."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def call(self, method: str, path: str, said: object) -> Any:  # noqa: ANN401 - any JSON
        """Make one call of the Pub/Sub API."""
        async with (
            aiohttp.ClientSession(raise_for_status=True) as session,
            session.request(method, f"{self.url}/v1/{path}", json=said) as answer,
        ):
            return await answer.json()

    async def subscription(self, ack_s: int = 10) -> "Subscribed":
        """Make a topic and a subscription of the test's own."""
        name = f"test-{uuid.uuid4()}"
        topic = f"projects/{PROJECT}/topics/{name}"
        made = f"projects/{PROJECT}/subscriptions/{name}"
        await self.call("PUT", topic, {})
        await self.call("PUT", made, {"topic": topic, "ackDeadlineSeconds": ack_s})
        return Subscribed(self, topic, made)


class Subscribed:
    """A subscription and the topic that it is to."""

    def __init__(self, emulator: Emulator, topic: str, name: str) -> None:
        self.emulator, self.topic, self.name = emulator, topic, name

    async def publish(self, *bodies: bytes | str) -> None:
        """Publish messages."""
        raw = [body.encode() if isinstance(body, str) else body for body in bodies]
        messages = [{"data": base64.b64encode(body).decode()} for body in raw]
        await self.emulator.call("POST", f"{self.topic}:publish", {"messages": messages})

    async def waiting(self) -> int:
        """Return how many messages can be pulled now; they can't for the ack deadline after."""
        said = {"maxMessages": 100, "returnImmediately": True}
        answer = await self.emulator.call("POST", f"{self.name}:pull", said)
        return len(answer.get("receivedMessages", []))


@contextmanager
def pubsub_emulator() -> Iterator[Emulator]:
    """Run it in the block; skips the test where it is not installed."""
    java, jar = shutil.which("java"), _jar()
    if java is None or jar is None:
        pytest.skip("the Pub/Sub emulator of the Google Cloud CLI, or Java, is not installed")
    with tempfile.TemporaryFile("w+") as log:
        arguments = ["-Xmx256m", "-jar", str(jar), "--host=127.0.0.1", f"--port={quiet_port()}"]
        process = subprocess.Popen([java, *arguments], stdout=subprocess.DEVNULL, stderr=log)
        try:
            yield Emulator(f"http://127.0.0.1:{_port(log)}")
        finally:
            end(process)


def _jar() -> Path | None:
    gcloud = shutil.which("gcloud")
    roots = [Path(gcloud).resolve().parents[1], *_ROOTS] if gcloud else list(_ROOTS)
    return next((jar for root in roots for jar in root.glob(_JAR)), None)


def _port(log: IO[str]) -> str:
    end = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < end:
        log.seek(0)
        if found := _LISTENS.search(log.read()):
            return found[1]
        time.sleep(0.05)
    raise RuntimeError(f"the Pub/Sub emulator does not listen within {_START_LIMIT_S:.0f} s")
