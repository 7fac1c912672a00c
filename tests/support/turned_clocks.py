"""The clocks of a daemon's process, turned while it runs: set by hand, or on past a suspend.

Its loop's own clock stays as it is, which is what CLOCK_MONOTONIC does in both cases.
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]

_SITE = """\
import os
import time
from datetime import UTC, datetime, timedelta

from watcher import process
from watcher.notice import Moment


def now():
    with open(os.environ["TURNED_CLOCKS"]) as file:
        wall_s, boottime_s = (float(word) for word in file.read().split())
    wall = datetime.now(UTC) + timedelta(seconds=wall_s)
    return Moment(wall, time.clock_gettime(time.CLOCK_BOOTTIME) + boottime_s)


process.now = now  # before anybody has imported it
"""


class TurnedClocks:
    """Both clocks of a daemon that is started with the environment of :meth:`environment`.

    Args:
        path: A directory that is made for it.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir()
        (path / "sitecustomize.py").write_text(_SITE)
        self._path = path
        self._wall_s = self._boottime_s = 0.0
        self._write()

    def environment(self) -> dict[str, str]:
        """Return what makes a Python process look at these clocks."""
        return {"PYTHONPATH": f"{self._path}:{ROOT}", "TURNED_CLOCKS": str(self._path / "turned")}

    def set_wall(self, by_s: float) -> None:
        """Set the wall clock, as a person or NTP does."""
        self._wall_s += by_s
        self._write()

    def suspend(self, for_s: float) -> None:
        """Be on the other side of a suspend."""
        self._wall_s += for_s
        self._boottime_s += for_s
        self._write()

    def _write(self) -> None:
        draft = self._path / "draft"
        draft.write_text(f"{self._wall_s} {self._boottime_s}")
        draft.rename(self._path / "turned")
