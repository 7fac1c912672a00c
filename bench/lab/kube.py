"""A Kubernetes API server on loopback: the tests' fake as a process, on one core if asked."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.child import end

TOKEN = "admin-token"  # noqa: S105 - the fake's own, on loopback
"""Of who may do everything there."""

_ROOT = Path(__file__).parents[2]


@contextmanager
def kube_server(prefix: str, nodes: int, core: int | None = None) -> Iterator[str]:
    """Run it in the block with so many Nodes, whose providerIDs begin so; give its URL.

    Raises:
        RuntimeError: It has not started.
    """
    process = subprocess.Popen(  # noqa: S603 - our own module, and no text of a user
        [sys.executable, "-m", "tests.fakes.kube", prefix, str(nodes)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    try:
        if core is not None:
            os.sched_setaffinity(process.pid, {core})
        url = process.stdout.readline().strip() if process.stdout else ""
        if not url:
            raise RuntimeError("the API server has not started")
        yield url
    finally:
        end(process)
