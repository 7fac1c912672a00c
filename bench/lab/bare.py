"""The least that a handler for Compute Engine can be: one request after the other, and a file.

``python bare.py HOST:PORT KEY DIRECTORY [API TOKEN AUTHORITY NODE]``: waits for the key to change,
and has a file there for as long as it does not say NONE; with an API server, a taint on the Node as
well. No deadline, no retry, no second key, nothing to look at. What it takes, on the same machine
in the same minute, is what the machine takes.
"""

import asyncio
import contextlib
import http.client
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

FLAG = "notice.json"
TAINT = "example.com/bare"


@contextlib.asynccontextmanager
async def bare_handler(
    host: str, key: str, directory: Path, *api: str, niceness: str = "0"
) -> AsyncIterator[None]:
    """Run it inside the block, in a process of its own that imports little else."""
    arguments = (host, key, str(directory), *api)
    process = await asyncio.create_subprocess_exec(
        *("nice", "-n", niceness, sys.executable, __file__, *arguments)
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


class Node:
    """The Node, over one connection that is kept.

    Args:
        api: The URL of the API server.
        token: Says who we are.
        authority: The file with the API server's authority.
        name: The Node's.
    """

    def __init__(self, api: str, token: str, authority: str, name: str) -> None:
        tls = ssl.create_default_context(cafile=authority)
        self._connection = http.client.HTTPSConnection(urlsplit(api).netloc, context=tls)
        self._path = f"/api/v1/nodes/{name}"
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/merge-patch+json",
        }

    def taint(self, *, is_on: bool) -> None:
        """Put the taint on, or take it off, on a Node that has no other."""
        taints = [{"key": TAINT, "effect": "NoSchedule"}] if is_on else None
        body = json.dumps({"spec": {"taints": taints}})
        self._connection.request("PATCH", self._path, body, self._headers)
        answer = self._connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{answer.status}: {answer.read()!r}")
        answer.read()


def main() -> None:
    """Follow the key until the process is killed."""
    host, key, directory, *api = sys.argv[1:]
    flag, draft = Path(directory, FLAG), Path(directory, ".draft")
    node = Node(*api) if api else None
    connection = http.client.HTTPConnection(host)
    etag = "0"
    while True:
        query = f"?wait_for_change=true&timeout_sec=5&last_etag={etag}"
        connection.request("GET", key + query, headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
        body, etag = answer.read(), answer.headers["ETag"]
        is_near = body != b"NONE"
        if flag.exists() is is_near:
            continue
        if is_near:
            draft.write_bytes(body)
            os.replace(draft, flag)  # noqa: PTH105 - as few layers as there can be
        else:
            flag.unlink()
        if node is not None:
            node.taint(is_on=is_near)


if __name__ == "__main__":
    main()
