"""Where a run's ledger is: beside its checkpoints, or, for a bucket, in a copy that is put there.

Nothing can be appended to an object. So for a bucket each attempt writes its record on this node,
and puts it as a whole after each commit and as it leaves; what a kill takes is the time since.
"""

import contextlib
import logging
import re
import tempfile
import threading
from pathlib import Path

from trainer_hooks.checkpoint.place import ObjectPlace, Place, sizes_in
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.ledger_writer import CLOSE_S
from trainer_hooks.waste.lineage import MAX_BYTES, MAX_FILES

log = logging.getLogger(__name__)

_NAME = re.compile(r"a\d{1,18}-[0-9a-f]{1,16}\.jsonl", re.ASCII)


class LedgerHome:
    """The directory that a run's ledger is read and written in. The coordinator has one.

    Args:
        root: The checkpoint directory.
    """

    def __init__(self, root: Place) -> None:
        self._folder: ObjectPlace | None = None
        if isinstance(root, Path):
            self.path = root
            """Has the ledger in it."""
            return
        self._folder = root / FOLDER
        self._copy = tempfile.TemporaryDirectory(prefix="reprieve-ledger-")
        self.path = Path(self._copy.name)
        self._fetched: set[str] = set()
        try:
            self._fetch(self._folder)
        except OSError as error:
            log.warning("what earlier starts have measured is not known: %s", error)

    def put(self) -> None:
        """Put what was written here into the bucket. What can't be put is lost, with a warning."""
        if self._folder is None:
            return
        try:
            for path in (self.path / FOLDER).glob("a*.jsonl"):
                if path.name not in self._fetched:
                    place = self._folder / path.name
                    place.bucket.put(place.key, path.read_bytes())
        except OSError as error:
            log.warning("%s can't be written: %s", self._folder, error)

    def close(self) -> None:
        """Put it for the last time. Takes at most a second: a deadline may be near."""
        if self._folder is None:
            return
        putting = threading.Thread(target=self.put, name="ledger-put", daemon=True)
        putting.start()
        putting.join(CLOSE_S)
        with contextlib.suppress(OSError):
            self._copy.cleanup()

    def _fetch(self, folder: ObjectPlace) -> None:
        (self.path / FOLDER).mkdir()
        for name, size in sorted(sizes_in(folder).items())[:MAX_FILES]:
            if _NAME.fullmatch(name) and size <= MAX_BYTES:
                data = folder.bucket.get(f"{folder.key}/{name}")
                (self.path / FOLDER / name).write_bytes(data)
                self._fetched.add(name)
