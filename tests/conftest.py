"""Settings that every test needs before anything else is imported."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.support.attentive_loop import AttentiveLoop
from tests.support.ports import quiet_port

_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

os.environ["OMP_NUM_THREADS"] = "1"  # forked ranks cannot inherit a thread pool
for _name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):
    os.environ.pop(_name, None)  # whoever starts our programs has nothing set for Python
os.environ.pop("REPRIEVE_RUN_DIR", None)
os.environ.pop("REPRIEVE_NOTICE_URL", None)
# A background job inherits ignored signals, and so would every process that a test starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Let each asynchronous test have a loop on which no short limit ends what is only late."""
    return {"attentive": AttentiveLoop}


def pytest_collection_finish() -> None:
    """Keep what has been collected out of each later garbage collection.

    It stays to the end, and to go through all of it would hold up the process, limits and clocks
    and all, for half a second each time; so would the pages that each forked rank had to copy.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """Fail a test that leaves a stop signal with a handler, ignored or blocked.

    Each process that a later test starts would inherit the latter two, and hang at its end.
    """
    before = _signals()
    yield
    assert _signals() == before


def _signals() -> tuple[object, ...]:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return (mask, *(signal.getsignal(number) for number in _STOP))


@pytest.fixture
def unused_tcp_port() -> int:
    """Return a port where nobody listens; pytest-asyncio's own may be given to others."""
    return quiet_port()


@pytest.fixture(scope="session")
def weed_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run SeaweedFS, a real S3 server, with a bucket; the session's tests share it."""
    from tests.support.s3_server import seaweedfs  # noqa: PLC0415 - most tests need none of it

    with seaweedfs(tmp_path_factory.mktemp("weed")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def rclone_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run rclone's S3 server, which knows no conditional put; the session's tests share it."""
    from tests.support.s3_server import rclone  # noqa: PLC0415 - most tests need none of it

    with rclone(tmp_path_factory.mktemp("rclone")) as endpoint:
        yield endpoint
