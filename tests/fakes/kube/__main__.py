"""The fake API server as a process: ``python -m tests.fakes.kube PROVIDER_ID_PREFIX COUNT``.

It has that many Nodes, whose providerIDs end in a number, prints its URL, and serves until SIGTERM.
"""

import asyncio
import signal
import sys

from tests.fakes.kube.server import fake_api_server


async def _serve(prefix: str, count: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with fake_api_server() as server:
        for number in range(count):
            server.cluster.add_node(f"node-{number}", provider_id=f"{prefix}{number:017x}")
        print(server.url, flush=True)  # noqa: T201 - whoever has started it waits for it
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2])))
