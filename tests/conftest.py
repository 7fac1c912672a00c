"""Settings that every test needs before anything else is imported."""

import os
import signal
from collections.abc import Iterator

import pytest

_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

os.environ["OMP_NUM_THREADS"] = "1"  # forked ranks cannot inherit a thread pool
os.environ.pop("REPRIEVE_RUN_DIR", None)
os.environ.pop("REPRIEVE_NOTICE_URL", None)
# A background job inherits ignored signals, and so would every process that a test starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


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
