"""A second connection to the Store, whose host may be gone."""

import subprocess
import sys
from typing import Any

import pytest
import torch.distributed as dist

from trainer_hooks import world

HOST = """
import sys, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, is_master=True)
print(store.port, flush=True)
sys.stdin.read()
"""


@pytest.mark.ranks
def test_connection_is_refused_soon_when_the_stores_host_was_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not tried for half an hour; and a wait on the Store is as long as before."""
    monkeypatch.setattr(world, "CONNECT_S", 1.0)
    command = [sys.executable, "-c", HOST]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        store: Any = dist.TCPStore("127.0.0.1", int(host.stdout.readline()), is_master=False)
        assert world._second(store).timeout == store.timeout
        host.kill()
    usual = store.timeout
    with pytest.raises(dist.DistNetworkError):
        world._second(store)
    assert store.timeout == usual
