"""Where checkpoints lie: on a file system, or in a bucket of an object store.

The protocol is written once, for both. A ``Path`` is one kind of place; ``ObjectPlace`` answers
the same questions of a bucket, where directories are no more than a part of a name.
"""

import contextlib
import errno
import io
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from trainer_hooks.errors import CheckpointError, ConfigError, UntrustedFileError
from trainer_hooks.untrusted import Json, parse_json_object, read_json_object

if TYPE_CHECKING:
    from trainer_hooks.checkpoint.bucket import Bucket

SCHEMES = ("s3://", "gs://", "az://", "file://")
_FILE = "file://"
_SHORT_OF_A_SLASH = re.compile(r"(s3|gs|az|file):/(?!/)")
_READ_AT_ONCE = 8 * 1024 * 1024


class ObjectPlace:
    """An object in a bucket, or all that lie under a name."""

    def __init__(self, bucket: "Bucket", key: str = "") -> None:
        self.bucket = bucket
        self.key = key

    def __truediv__(self, name: str) -> "ObjectPlace":
        return ObjectPlace(self.bucket, f"{self.key}/{name}" if self.key else name)

    def __str__(self) -> str:
        return f"{self.bucket.url}/{self.key}" if self.key else self.bucket.url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPlace) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def name(self) -> str:
        """The last part of the name."""
        return PurePosixPath(self.key).name

    @property
    def stem(self) -> str:
        """The same without what follows its last dot."""
        return PurePosixPath(self.key).stem

    @property
    def suffix(self) -> str:
        """Its last dot, and what follows."""
        return PurePosixPath(self.key).suffix

    @property
    def parent(self) -> "ObjectPlace":
        """What it lies under."""
        return ObjectPlace(self.bucket, self.key.rpartition("/")[0])

    def iterdir(self) -> Iterator["ObjectPlace"]:
        """Yield what lies directly under it."""
        return iter([self / name for name in self.bucket.children(self.key)])

    def is_dir(self) -> bool:
        """Tell whether anything lies under it; the bucket itself is always there."""
        return not self.key or self.bucket.holds(self.key)

    def is_file(self) -> bool:
        """Tell whether it is an object."""
        return bool(self.key) and self.exists() and not self.is_dir()

    def is_symlink(self) -> bool:
        """Tell whether it is a link, of which there are none."""
        return False

    def exists(self) -> bool:
        """Tell whether it is an object, or anything lies under it."""
        try:
            self.bucket.size(self.key)
        except FileNotFoundError:
            return self.is_dir()
        return True

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:  # noqa: ARG002 - nothing to make
        """Refuse if something lies there that may not; there is nothing to make."""
        if not exist_ok and self.is_dir():
            raise FileExistsError(errno.EEXIST, "File exists", str(self))

    def rmdir(self) -> None:
        """Do nothing: what has no objects under it is not there."""

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002 - there are no links
        """Return an object's size; it counts as a regular file."""
        size = self.bucket.size(self.key)
        return os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, 0, 0, size, 0, 0, 0))

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove an object."""
        if not missing_ok:
            self.bucket.size(self.key)
        self.bucket.delete(self.key)

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Read an object, piece by piece and from anywhere in it."""
        if mode != "rb":
            raise ValueError(f"an object is read, or put as a whole: {mode}")
        return io.BufferedReader(_Object(self), _READ_AT_ONCE)


class _Object(io.RawIOBase):
    """An object as a seekable stream; each piece is asked for when it is read."""

    def __init__(self, place: ObjectPlace) -> None:
        self._place = place
        self._size = place.bucket.size(place.key)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's own Buffer is private
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        data = self._place.bucket.get_range(self._place.key, self._at, length)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


Place: TypeAlias = Path | ObjectPlace
"""What checkpoints lie in, and every file of them."""


def place_of(text: str | os.PathLike[str]) -> Place:
    """Return the place that a path or a URL names; ``file://`` is the path that it holds.

    Raises:
        ConfigError: It is empty, or the URL of no store that we know, or of another machine's
            file, or what such a store needs is not installed.
    """
    url = os.fspath(text)
    if not url:  # a variable that is not set, perhaps: pathlib takes it for the working directory
        raise ConfigError("the directory's name is empty: for the working directory say '.'")
    if _SHORT_OF_A_SLASH.match(url):
        raise ConfigError(f"{url} was a URL before it became a Path: pass the text as it is")
    if "://" not in url:
        return Path(url)
    if url.startswith(_FILE):
        return _path_of(url)
    if not url.startswith(SCHEMES):
        raise ConfigError(f"{url} is in no store that is known: {', '.join(SCHEMES)}, or a path")
    try:
        from trainer_hooks.checkpoint.bucket import Bucket  # noqa: PLC0415 - an extra of its own
    except ModuleNotFoundError as error:
        raise ConfigError(f"{url} needs obstore, the extra [stores] of reprieve") from error
    return ObjectPlace(Bucket(url))


def _path_of(url: str) -> Path:
    """Return the path in a file URL, so that what is saved there is synced as on any path.

    The store library would take a directory for a bucket, and syncs nothing that it puts there: a
    marker could outlive a power loss and its shards not.
    """
    host, slash, path = url.removeprefix(_FILE).partition("/")
    if not slash or host not in {"", "localhost"}:
        raise ConfigError(f"{url} names no file of this machine: pass the path, or file:///path")
    return Path(slash + unquote(path))


def is_there(place: Place) -> bool:
    """Tell whether anything has that name, be it a link that leads nowhere.

    Raises:
        CheckpointError: It cannot be told, because the storage or this process is in trouble.
    """
    try:
        if isinstance(place, ObjectPlace):
            return place.exists()
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        if error.errno == errno.ELOOP:  # it lies behind a link that leads to itself
            return False
        raise CheckpointError(f"{place} cannot be looked at: {error.strerror}") from error
    return True


def read_json(place: Place, *, max_bytes: int) -> dict[str, Json]:
    """Read one JSON object of at most ``max_bytes`` bytes, which somebody else has written.

    Raises:
        FileNotFoundError: There is none.
        OSError: The store or this process is in trouble, which says nothing of the object.
        UntrustedFileError: It is of another kind, too large, or no JSON object.
    """
    if isinstance(place, Path):
        return read_json_object(place, max_bytes=max_bytes, may_be_linked=True)
    if place.bucket.size(place.key) > max_bytes:
        raise UntrustedFileError(f"{place} is larger than {max_bytes} bytes")
    return parse_json_object(place.bucket.get(place.key), place)


def sizes_in(directory: ObjectPlace) -> dict[str, int]:
    """Return the sizes of all objects under a name: one question for them all."""
    return directory.bucket.sizes(directory.key)


def bytes_in(directory: Place) -> int:
    """Add up what lies in a directory; what goes away meanwhile takes nothing."""
    if isinstance(directory, ObjectPlace):
        return sum(sizes_in(directory).values())
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += Path(parent, name).lstat().st_size
    return total
