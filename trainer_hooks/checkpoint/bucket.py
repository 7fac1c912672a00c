"""A bucket of an object store: objects that are whole or absent, and one that is created only once.

An object store has no rename and needs none: a put is atomic and durable. What it must offer is the
put that fails if the object exists (``If-None-Match: *``). S3, Google Cloud Storage and Azure do;
some stores that speak S3 don't, and say nothing of it. So it is tried once.
"""

import errno
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    GenericError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from trainer_hooks.checkpoint.store_access import PATIENCE, open_store, said

log = logging.getLogger(__name__)

T = TypeVar("T")

PROBES = ".probes"

_TRIES = 3
"""obstore makes a request again that was refused, but not one whose answer breaks off."""

_PIECE_BYTES = 32 * 1024 * 1024


class Bucket:
    """A bucket, or a part of one. Credentials and endpoint come from the usual variables.

    Args:
        url: Where it is: ``s3://bucket/path`` and the like; ``file://`` is a directory seen as one,
            which is for tests, as nothing there is synced (``place_of`` gives users the path).

    Raises:
        ConfigError: The URL makes no sense.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._store = open_store(self.url)
        self._probing = threading.Lock()
        self._creates_once: bool | None = None
        self._gives_ranges = True

    def __reduce__(self) -> tuple[type["Bucket"], tuple[str]]:
        """Let another rank open it for itself."""
        return Bucket, (self.url,)

    def children(self, key: str) -> list[str]:
        """Return the names directly under a key, of objects and of what has some under it."""
        under = f"{key}/" if key else None
        found = self._listed(key, lambda: obstore.list_with_delimiter(self._store, under))
        # Some stores keep an object for the key itself, as if it were a directory.
        objects = [meta["path"] for meta in found["objects"] if meta["path"] != key]
        return [name.rpartition("/")[2] for name in (*objects, *found["common_prefixes"])]

    def sizes(self, key: str) -> dict[str, int]:
        """Return the size of every object under a key, by its name relative to that."""
        found = self._listed(
            key, lambda: [m for page in obstore.list(self._store, f"{key}/") for m in page]
        )
        return {m["path"].removeprefix(f"{key}/"): m["size"] for m in found if m["path"] != key}

    def holds(self, key: str) -> bool:
        """Tell whether any object lies under a key; some stores list names without any for long."""
        return self._listed(
            key, lambda: any(page for page in obstore.list(self._store, f"{key}/", chunk_size=1))
        )

    def size(self, key: str) -> int:
        """Return an object's size.

        Raises:
            FileNotFoundError: There is none.
        """
        with self._told(key):
            return obstore.head(self._store, key)["size"]

    def get(self, key: str) -> bytes:
        """Return a whole object."""
        return bytes(self._whole(key))

    def chunks(self, key: str) -> Iterator[memoryview]:
        """Yield an object piece by piece, each by a request that can be made again."""
        size = self.size(key)
        if size <= _PIECE_BYTES:
            yield self._whole(key)
            return
        for start in range(0, size, _PIECE_BYTES):
            yield self.get_range(key, start, min(_PIECE_BYTES, size - start))

    def get_range(self, key: str, start: int, length: int) -> memoryview:
        """Return a part of an object; of one that a store only gives as a whole, cut out here.

        Like a chunk it is where obstore has put it: a copy takes as long as ten digests.
        """
        if not self._gives_ranges:
            return self._whole(key)[start : start + length]
        try:
            return self._range(key, start, length)
        except OSError as error:
            # Neither the store nor obstore says so in a way of its own: it has to be found out.
            if not isinstance(error.__cause__, GenericError):
                raise
            part = self._whole(key)[start : start + length]
            if len(part) < length:
                raise
            if self._has_no_ranges(key):
                self._gives_ranges = False
                log.warning("%s gives objects only as a whole: resuming takes longer", self.url)
            return part

    def _whole(self, key: str) -> memoryview:
        return self._asked(key, lambda: memoryview(obstore.get(self._store, key).bytes()))

    def _range(self, key: str, start: int, length: int) -> memoryview:
        return self._asked(
            key, lambda: memoryview(obstore.get_range(self._store, key, start=start, length=length))
        )

    def _has_no_ranges(self, key: str) -> bool:
        """Ask for a byte of an object that was just given as a whole."""
        try:
            self._range(key, 0, 1)
        except OSError as error:
            return isinstance(error.__cause__, GenericError)
        return False

    def put(self, key: str, data: bytes) -> None:
        """Write or replace an object, in one request: what a multipart one leaves is not listed."""
        self._asked(key, lambda: obstore.put(self._store, key, data, use_multipart=False))

    def create(self, key: str, data: bytes) -> None:
        """Create an object.

        Raises:
            FileExistsError: There is another one; it is left as it is.
        """
        if self.creates_once:
            self._create(key, data)
            return
        with suppress(FileNotFoundError):
            self.size(key)
            raise FileExistsError(errno.EEXIST, "exists already", f"{self.url}/{key}")
        self.put(key, data)

    def delete(self, key: str) -> None:
        """Remove an object; it is well if there is none."""
        with suppress(FileNotFoundError):
            self._asked(key, lambda: obstore.delete(self._store, key))

    @property
    def creates_once(self) -> bool:
        """Whether the store keeps two from creating one object. Found out by trying."""
        with self._probing:
            if self._creates_once is None:
                self._creates_once = self._probe()
                if not self._creates_once:
                    log.warning(
                        "%s has no conditional put: two starts of the job within a moment of each "
                        "other could both commit; see docs/commit-protocol.md",
                        self.url,
                    )
            return self._creates_once

    def _probe(self) -> bool:
        key = f"{PROBES}/{secrets.token_hex(8)}"
        try:
            self._create(key, b"first")
            self._create(key, b"second")
        except FileExistsError:
            return True
        except NotImplementedError:
            return False
        else:
            return False
        finally:
            self.delete(key)

    def _create(self, key: str, data: bytes) -> None:
        try:
            with self._told(key):
                obstore.put(self._store, key, data, mode="create")
        except FileExistsError:
            # An answer that was lost on its way, and the put made again: it is ours all the same.
            if self.get(key) != data:
                raise

    def _asked(self, key: str, ask: Callable[[], T]) -> T:
        """Ask for what may be done twice, and again if the answer has broken off in between."""
        began, tries = time.monotonic(), 1
        while True:
            try:
                with self._told(key):
                    return ask()
            except OSError as error:
                waited_s = time.monotonic() - began
                is_broken = isinstance(error.__cause__, GenericError)
                if not is_broken or tries == _TRIES or waited_s > PATIENCE.total_seconds() / 2:
                    raise
            tries += 1

    def _listed(self, key: str, ask: Callable[[], T]) -> T:
        """List, and find out by another question if that is forbidden: obstore does not say so."""
        try:
            return self._asked(key, ask)
        except OSError as error:
            if isinstance(error.__cause__, GenericError):
                with suppress(FileNotFoundError):
                    self.size(key or PROBES)
            raise

    @contextmanager
    def _told(self, key: str) -> Iterator[None]:
        """Raise what the store says as what a file system would."""
        where = f"{self.url}/{key}"
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "No such object", where) from error
        except (AlreadyExistsError, PreconditionError) as error:
            raise FileExistsError(errno.EEXIST, "exists already", where) from error
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise PermissionError(errno.EACCES, said(self.url, error), where) from error
        except NotSupportedError as error:
            raise NotImplementedError(said(self.url, error)) from error
        except BaseError as error:
            raise OSError(errno.EIO, said(self.url, error), where) from error
