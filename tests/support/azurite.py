"""Azurite, Microsoft's own emulator of Azure's blob store, on loopback."""

import base64
import hashlib
import hmac
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from tests.support.ports import quiet_port

CONTAINER = "checkpoints"

_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""No secret: every Azurite has them. https://learn.microsoft.com/azure/storage/common/storage-connect-azurite
(read 2026-12-01)."""

_VERSION = "2021-08-06"
_STARTS_WITHIN_S = 50.0


@contextmanager
def azurite() -> Iterator[str]:
    """Run it with a container, in memory; yield its endpoint. Skips where it is not installed."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite-blob is not on the PATH: npm install -g azurite")
    port = quiet_port()
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    process = subprocess.Popen([program, "--blobHost=127.0.0.1", f"--blobPort={port}", *options])
    try:
        endpoint = f"http://127.0.0.1:{port}"
        _make_container(endpoint)
        yield endpoint
    finally:
        process.kill()
        process.wait()


def _make_container(endpoint: str) -> None:
    end = time.monotonic() + _STARTS_WITHIN_S
    while True:
        try:
            urllib.request.urlopen(_request(endpoint), timeout=10).close()  # noqa: S310 - loopback
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


def _request(endpoint: str) -> urllib.request.Request:
    """Return a request for a container, signed as Azure wants it: obstore makes none."""
    at = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    what = f"x-ms-date:{at}\nx-ms-version:{_VERSION}\n/{_ACCOUNT}/{_ACCOUNT}/{CONTAINER}"
    text = "PUT" + 12 * "\n" + f"{what}\nrestype:container"
    digest = hmac.new(base64.b64decode(_KEY), text.encode(), hashlib.sha256).digest()
    return urllib.request.Request(  # noqa: S310 - loopback
        f"{endpoint}/{_ACCOUNT}/{CONTAINER}?restype=container",
        method="PUT",
        headers={
            "x-ms-date": at,
            "x-ms-version": _VERSION,
            "Authorization": f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}",
            "Content-Length": "0",
        },
    )
