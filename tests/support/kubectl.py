"""The real kubectl against the fake, as a person at a terminal."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.kube.access import ADMIN

PROGRAM = Path(sys.executable).with_name("kubectl")


class Kubectl:
    """Runs it with a configuration of its own; it sends a token over TLS alone.

    Args:
        url: Where the API server is, over TLS.
        authority: The file with its authority.
        home: A directory for what kubectl keeps.
    """

    def __init__(self, url: str, authority: Path, home: Path) -> None:
        self._words = [
            str(PROGRAM),
            "--kubeconfig=/dev/null",
            f"--server={url}",
            f"--certificate-authority={authority}",
            f"--token={ADMIN}",
        ]
        self._environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}

    async def says(self, *words: str) -> str:
        """Return what a command prints, which has to succeed."""
        async with self.started(*words) as process:
            out, _ = await process.communicate()
        assert process.returncode == 0, f"kubectl {words}: {out.decode()}"
        return out.decode()

    @asynccontextmanager
    async def started(self, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run a command beside the block, and end it there."""
        process = await asyncio.create_subprocess_exec(
            *self._words,
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
