"""The golden flag file, to be changed and read on a machine whose clocks the test sets."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.flags import GOLDEN
from trainer_hooks.flag import StopNotice, read_flag

BOOT_ID = "6d1c0f6e-5a4b-4c3d-9e2f-1a2b3c4d5e6f"
"""The golden file's."""


@dataclass
class Flag:
    """A copy of the golden file in a directory of the test's own."""

    path: Path
    data: dict[str, Any] = field(default_factory=lambda: json.loads(GOLDEN.read_bytes()))

    def read(self, **changes: object) -> StopNotice | None:
        """Write the golden file with changes, and read it."""
        self.path.write_text(json.dumps(self.data | changes))
        return read_flag(self.path)

    def deadline_s(self, **changes: object) -> float | None:
        """Return the deadline of the notice, which must be there."""
        notice = self.read(**changes)
        assert notice is not None
        return notice.deadline_s


class Clocks:
    """The clocks of that machine, one second after the golden file was written."""

    def __init__(self) -> None:
        self.wall = 1_796_033_107.252
        self.boottime = 5002.252
        self.boot_id: str | None = BOOT_ID

    def turn(self, by_s: float) -> None:
        """Let ``by_s`` seconds pass on both."""
        self.wall += by_s
        self.boottime += by_s
