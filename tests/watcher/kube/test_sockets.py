"""A connection whose other end dies without a word: a watch must not wait for it for ever."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.own_node import OwnNode
from watcher.kube.client import KubeClient
from watcher.kube.follow import SILENCE_LIMIT_S
from watcher.kube.sockets import DEAD_AFTER_S, EVERY_S, IDLE_S, TIMES

ROOT = Path(__file__).parents[3]


def _sockets(client: KubeClient) -> list[socket.socket]:
    session = client._session
    assert session is not None
    assert session.connector is not None
    idle = [found for conns in session.connector._conns.values() for found in conns]
    return [one[0].transport.get_extra_info("socket") for one in idle if one[0].transport]


async def test_connections_probe_the_other_end_when_it_is_silent(own: OwnNode) -> None:
    """Sooner than the watch's own limit, which has to wait for bookmarks."""
    await own.node.get()
    [made] = _sockets(own.client)
    options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    found = [made.getsockopt(socket.IPPROTO_TCP, option) for option in options]
    assert found == [IDLE_S, EVERY_S, TIMES]
    assert DEAD_AFTER_S == 25 < SILENCE_LIMIT_S


DEAD_PEER = """
import asyncio, subprocess, sys
from pathlib import Path
from tests.fakes.kube.server import fake_api_server
from watcher.errors import KubeUnavailable
from watcher.kube.client import KubeClient
from watcher.kube.follow import Follower
from watcher.kube.node import NODES
from watcher.kube.place import Place

async def main():
    async with fake_api_server() as server:
        server.cluster.add_node("node-a")
        async with KubeClient(Place(server.url, Path(sys.argv[1])), None) as client:
            news = Follower(client, NODES, "").news()
            await anext(news), await anext(news)
            subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
            try:
                await anext(news)
            except KubeUnavailable:
                print("noticed", flush=True)
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_watch_ends_when_the_network_is_gone(tmp_path: Path) -> None:
    """In a network namespace of its own; it would wait for 130 s otherwise."""
    if os.geteuid() != 0:
        pytest.skip("a network namespace needs root")
    token = tmp_path / "token"
    token.write_text("admin-token")
    up = "ip link set lo up && exec "
    process = await asyncio.create_subprocess_exec(
        *("unshare", "--net", "sh", "-c", f'{up} "$@"', "sh", sys.executable, "-c", DEAD_PEER),
        str(token),
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    async with asyncio.timeout(90):
        said, _ = await process.communicate()
    assert said == b"noticed\n"
