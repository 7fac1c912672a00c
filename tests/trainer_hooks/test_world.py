"""Further connections to the Store, whose host may be gone."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import torch.distributed as dist

from trainer_hooks import world
from trainer_hooks.world import World

pytestmark = pytest.mark.ranks

HOST = """
import sys, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, is_master=True)
print(store.port, flush=True)
sys.stdin.read()
"""


@contextmanager
def hosted() -> Iterator[tuple[subprocess.Popen[bytes], Any]]:
    """Run a Store in a process of its own, and give both."""
    command = [sys.executable, "-c", HOST]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        yield host, dist.TCPStore("127.0.0.1", int(host.stdout.readline()), is_master=False)
        host.kill()


def opened(own: Any) -> World:  # noqa: ANN401 - torch's stubs know no timeout
    """Return a world with a door, as ``connect`` makes it."""
    return World(rank=0, size=2, store=own, group=None, door=world._door("here", own))


@pytest.mark.slow
def test_connections_wait_as_long_as_the_store_when_many_are_opened_at_once() -> None:
    """None is left with the short time in which it was opened, and neither is the Store."""
    with hosted() as (_, own), ThreadPoolExecutor(8) as pool:
        usual, here = own.timeout, opened(own)
        connections: list[Any] = list(pool.map(lambda _: here.connection(), range(64)))
        assert {connection.timeout for connection in connections} == {own.timeout} == {usual}
        connections[0].set("key", "value")
        assert connections[1].get("key") == b"value"


def test_connection_is_refused_soon_when_the_stores_host_was_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not tried for half an hour, at the door or at the Store itself."""
    monkeypatch.setattr(world, "CONNECT_S", 1.0)
    with hosted() as (host, own):
        usual, here = own.timeout, opened(own)
        host.kill()
        host.wait()
        for connect in (here.connection, lambda: world._second(own)):
            with pytest.raises(dist.DistNetworkError):
                connect()
        assert own.timeout == usual
