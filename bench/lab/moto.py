"""AWS on loopback: moto's server as a process, on one core if asked."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from lab.child import end

REGION = "us-east-1"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": REGION,
}

_LISTENS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")
_START_LIMIT_S = 30.0


@contextmanager
def moto_server(core: int | None = None) -> Iterator[str]:
    """Run moto's server in the block, and give its URL.

    Raises:
        RuntimeError: It does not listen within 30 s.
    """
    with tempfile.TemporaryFile("w+") as log:  # not a pipe: it writes a line for each request
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, **CREDENTIALS},
        )
        try:
            if core is not None:
                os.sched_setaffinity(process.pid, {core})
            yield _url(log)
        finally:
            end(process)


def _url(log: IO[str]) -> str:
    end = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < end:
        log.seek(0)
        if found := _LISTENS.search(log.read()):
            return found[1]
        time.sleep(0.01)
    raise RuntimeError(f"moto's server does not listen within {_START_LIMIT_S:.0f} s")
