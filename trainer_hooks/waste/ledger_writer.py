"""Appends records to a file from a thread of its own, and goes on when the disk is there again."""

import json
import logging
import os
import queue
import threading
from collections import deque
from pathlib import Path

from trainer_hooks.waste.records import Record, to_json

log = logging.getLogger(__name__)

CLOSE_S = 1.0
"""How long leaving waits for the last lines. A deadline is no time to wait for a disk."""

HELD = 10_000
"""Lines that are kept while they can't be written: more than a day's, and nobody's memory grows."""


class LedgerWriter:
    """Appends records to a file; any thread may put one there.

    What can't be written now is kept and tried again with the next record: a disk that was full
    for an hour must not make the rest of the run look like a restart.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: queue.SimpleQueue[Record | None] = queue.SimpleQueue()
        self._held: deque[bytes] = deque(maxlen=HELD)
        self._descriptor: int | None = None
        self._is_failing = False
        self._thread = threading.Thread(target=self._serve, name="ledger", daemon=True)
        self._thread.start()

    def put(self, record: Record) -> None:
        """Have a record written soon. Never blocks."""
        self._records.put(record)

    def close(self) -> None:
        """Wait a moment until all is written."""
        self._records.put(None)
        self._thread.join(CLOSE_S)

    def _serve(self) -> None:
        while (record := self._records.get()) is not None:
            line = json.dumps(to_json(record), separators=(",", ":")) + "\n"
            self._held.append(line.encode("ascii"))
            self._write()
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _write(self) -> None:
        try:
            if self._descriptor is None:
                self._descriptor = self._opened()
            # What was begun before it failed may be half a line, and is to be no part of this one.
            data = b"\n" * self._is_failing + b"".join(self._held)
            while data:
                data = data[os.write(self._descriptor, data) :]
            if self._records.empty():
                os.fsync(self._descriptor)
        except OSError as error:
            if not self._is_failing:
                log.warning(
                    "%s can't be written, so what this run wastes is not known; "
                    "it is tried again with each record: %s",
                    self._path,
                    error,
                )
            self._is_failing = True
            return
        if self._is_failing:
            log.info("%s is written again", self._path)
        self._is_failing = False
        self._held.clear()

    def _opened(self) -> int:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(self._path, flags, 0o644)
