"""One save between staging and its end."""

import threading

from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.digest import DigestingWriter
from trainer_hooks.checkpoint.latest import open_checkpoint
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.errors import CheckpointError


class SaveInFlight:
    """One save between staging and its end; any thread may look at it."""

    marker: CommitMarker | None = None
    """What was committed, on the coordinator. Read it after ``ended``."""

    def __init__(
        self, name: SaveName, directory: Place, writer: DigestingWriter, began_s: float
    ) -> None:
        self.began_s = began_s
        """When it began, on the monotonic clock."""
        self.name = name
        self.directory = directory
        self.writer = writer
        self.ended = threading.Event()
        self.failure: str | None = None
        """Why it was not committed; None once it was. Read it after ``ended``."""
        self.durable_s: float | None = None
        """Seconds from the end of the stall to the commit (D)."""

    def unless_marked(self, error: Exception) -> str | None:
        """Say that nobody knows what became of it, unless its marker is there: then it was good.

        The host of the Store may have committed it and left.
        """
        try:
            open_checkpoint(self.directory)
        except (CheckpointError, OSError):
            return f"the vote failed, or the Store is lost, and no marker is there: {error!r}"
        return None

    @property
    def is_committed(self) -> bool:
        """True once all ranks know that it is a checkpoint."""
        return self.ended.is_set() and self.failure is None
