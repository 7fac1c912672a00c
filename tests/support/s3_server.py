"""Real servers that speak S3, on loopback: one with conditional puts, one without."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.support.ports import quiet_port, quiet_ports
from trainer_hooks.checkpoint.place import ObjectPlace, place_of

_BIN = Path(sys.executable).parent
_KEY, _SECRET = "testkey", "testsecret"
BUCKET = "checkpoints"
_PARTS = ("s3", "master", "volume", "filer")

VARIABLES = {
    "AWS_ACCESS_KEY_ID": _KEY,
    "AWS_SECRET_ACCESS_KEY": _SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}


class Server:
    """A running server, which can be killed and started again with all that it had."""

    def __init__(self, command: list[str], port: int, log: Path) -> None:
        self._command, self._port, self._log = command, port, log
        self.endpoint = f"http://127.0.0.1:{port}"
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with self._log.open("ab") as output:
            self.process = subprocess.Popen(self._command, stdout=output, stderr=subprocess.STDOUT)
        while not _answers(self._port):
            if self.process.poll() is not None:
                pytest.fail(self._log.read_text(errors="replace")[-2000:])
            time.sleep(0.05)

    def kill(self) -> None:
        """End it with SIGKILL, if it has not been ended so already."""
        self.process.kill()
        self.process.wait()


@contextmanager
def seaweedfs(directory: Path) -> Iterator[str]:
    """Run SeaweedFS, whose puts can be conditional, with a bucket; yield its endpoint."""
    with mortal_seaweedfs(directory) as server:
        yield server.endpoint


@contextmanager
def mortal_seaweedfs(directory: Path) -> Iterator[Server]:
    """Run the same; yield the server, which a test may kill."""
    with _weed_server(directory, volume_mb=64, volumes=20) as server:
        client = s3_client(server.endpoint)
        client.create_bucket(Bucket=BUCKET)
        client.close()
        yield server


@contextmanager
def weed_server(directory: Path, *, volume_mb: int, volumes: int) -> Iterator[str]:
    """Run it with volumes of a size, at most so many, and no bucket; yield its endpoint."""
    with _weed_server(directory, volume_mb=volume_mb, volumes=volumes) as server:
        yield server.endpoint


@contextmanager
def _weed_server(directory: Path, *, volume_mb: int, volumes: int) -> Iterator[Server]:
    s3, master, volume, filer, *of_grpc = quiet_ports(8)
    identity = {
        "name": "test",
        "credentials": [{"accessKey": _KEY, "secretKey": _SECRET}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    config = directory / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    data = directory / "data"
    data.mkdir()
    command = [
        _BIN / "weed", "server", "-ip=127.0.0.1", f"-dir={data}", "-s3", f"-s3.port={s3}",
        f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}",
        *(f"-{part}.port.grpc={port}" for part, port in zip(_PARTS, of_grpc, strict=True)),
        f"-s3.config={config}", "-master.telemetry=false", f"-master.volumeSizeLimitMB={volume_mb}",
        f"-volume.max={volumes}", "-s3.port.iceberg=0", "-s3.port.lance=0",
    ]  # fmt: skip
    with _running([*map(str, command)], s3, directory / "weed.log") as server:
        yield server


@contextmanager
def rclone(directory: Path) -> Iterator[str]:
    """Run rclone over a directory, which takes every put for an unconditional one."""
    port = quiet_port()
    data = directory / "data"
    (data / BUCKET).mkdir(parents=True)
    command = [
        str(_BIN / "rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}",
        "--auth-key", f"{_KEY},{_SECRET}", "--config", str(directory / "none"), str(data),
    ]  # fmt: skip
    with _running(command, port, directory / "rclone.log") as server:
        yield server.endpoint


def s3_client(endpoint: str) -> Any:  # noqa: ANN401 - boto3 has no types
    """Return another client than ours."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=_KEY,
        aws_secret_access_key=_SECRET,
        region_name="us-east-1",
    )


def use_server(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Let this process and those that it starts find a server in their environment."""
    for variable, value in VARIABLES.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("AWS_ENDPOINT", endpoint)


def bucket_at(run: str) -> ObjectPlace:
    """Return a part of the test's bucket; the endpoint comes from the environment."""
    place = place_of(f"s3://{BUCKET}/{run}")
    assert isinstance(place, ObjectPlace)
    return place


@contextmanager
def _running(command: list[str], port: int, log: Path) -> Iterator["Server"]:
    if not Path(command[0]).exists():
        pytest.skip(f"{Path(command[0]).name} is not installed: see requirements/dev.txt")
    server = Server(command, port, log)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as found:
            # Who asks for a port that nobody listens on may be given it, and meet himself.
            return bool(found.getsockname() != found.getpeername())
    except OSError:
        return False
