"""The relay as a process, as a user starts it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def relay_process(
    queue_url: str,
    handler: Path | str,
    stdout: int | None = None,
    stderr: int = asyncio.subprocess.DEVNULL,
    **environment: str,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run ``reprieve-watcher relay`` in the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "watcher", "relay", "--listen=127.0.0.1:0"),
        f"--queue-url={queue_url}",
        f"--handler={handler}",
        stdout=stdout,
        stderr=stderr,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
