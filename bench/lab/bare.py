"""The least that a handler for Compute Engine can be: one request after the other, and a file.

``python bare.py HOST:PORT KEY DIRECTORY``: waits for the key to change, and has a file there for as
long as it does not say NONE. No deadline, no retry, no second key, nothing to look at. What it
takes, on the same machine in the same minute, is what the machine takes.
"""

import asyncio
import contextlib
import http.client
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

FLAG = "notice.json"


@contextlib.asynccontextmanager
async def bare_handler(
    host: str, key: str, directory: Path, niceness: str = "0"
) -> AsyncIterator[None]:
    """Run it inside the block, in a process of its own that imports little else."""
    process = await asyncio.create_subprocess_exec(
        *("nice", "-n", niceness, sys.executable, __file__, host, key, str(directory))
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


def main() -> None:
    """Follow the key until the process is killed."""
    host, key, directory = sys.argv[1:]
    flag, draft = Path(directory, FLAG), Path(directory, ".draft")
    connection = http.client.HTTPConnection(host)
    etag = "0"
    while True:
        query = f"?wait_for_change=true&timeout_sec=5&last_etag={etag}"
        connection.request("GET", key + query, headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
        body, etag = answer.read(), answer.headers["ETag"]
        if body == b"NONE":
            flag.unlink(missing_ok=True)
        elif not flag.exists():
            draft.write_bytes(body)
            os.replace(draft, flag)  # noqa: PTH105 - as few layers as there can be


if __name__ == "__main__":
    main()
