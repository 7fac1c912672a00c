"""An S3 server for a bench: SeaweedFS, with its data in a directory of the bench's choice."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.s3_server import s3_client, weed_server
from trainer_hooks.checkpoint.place import bytes_in

_VOLUME_MB = 1000
_VOLUMES = 200
_LEFT_BYTES = 16 * 1024 * 1024
"""At most so much is its own log of what was done."""

_LIMIT_S = 30.0


class Store:
    """A running server. What is saved gets a bucket of its own: one that goes gives its room back.

    That of an object which was removed stays taken until the server compacts its volumes.

    Args:
        endpoint: Where it is.
        directory: Its data.
    """

    def __init__(self, endpoint: str, directory: Path) -> None:
        self.endpoint = endpoint
        self._directory = directory

    def add(self, bucket: str) -> None:
        """Make a bucket. One rank calls it."""
        client = s3_client(self.endpoint)
        client.create_bucket(Bucket=bucket)
        client.close()

    def drop(self, bucket: str) -> None:
        """Remove a bucket with all that is in it, and wait until its room is free again.

        Raises:
            RuntimeError: It is not; the next save might find none.
        """
        client = s3_client(self.endpoint)
        client.delete_bucket(Bucket=bucket)
        client.close()
        end = time.monotonic() + _LIMIT_S
        while bytes_in(self._directory) > _LEFT_BYTES:
            if time.monotonic() > end:
                raise RuntimeError(f"SeaweedFS keeps {bytes_in(self._directory)} bytes of nothing")
            time.sleep(0.05)


@contextmanager
def running_store(directory: Path) -> Iterator[Store]:
    """Run one over an empty directory."""
    with weed_server(directory, volume_mb=_VOLUME_MB, volumes=_VOLUMES) as endpoint:
        yield Store(endpoint, directory / "data")
