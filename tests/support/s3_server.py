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


@contextmanager
def seaweedfs(directory: Path) -> Iterator[str]:
    """Run SeaweedFS, whose puts can be conditional, with a bucket; yield its endpoint."""
    with weed_server(directory, volume_mb=64, volumes=20) as endpoint:
        client = s3_client(endpoint)
        client.create_bucket(Bucket=BUCKET)
        client.close()
        yield endpoint


@contextmanager
def weed_server(directory: Path, *, volume_mb: int, volumes: int) -> Iterator[str]:
    """Run it with volumes of a size, at most so many, and no bucket; yield its endpoint."""
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
    with _running([*map(str, command)], s3, directory / "weed.log"):
        yield f"http://127.0.0.1:{s3}"


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
    with _running(command, port, directory / "rclone.log"):
        yield f"http://127.0.0.1:{port}"


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
def _running(command: list[str], port: int, log: Path) -> Iterator[None]:
    if not Path(command[0]).exists():
        pytest.skip(f"{Path(command[0]).name} is not installed: see requirements/dev.txt")
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        while not _answers(port):
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as found:
            # Who asks for a port that nobody listens on may be given it, and meet himself.
            return bool(found.getsockname() != found.getpeername())
    except OSError:
        return False
