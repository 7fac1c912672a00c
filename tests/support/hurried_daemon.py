"""A daemon that lives through days of polls in minutes, and says how much it holds.

What it asks for every second it asks for a hundred times a second, and every pause that is meant
for a cloud is as short. Its limits on one call stay as they are.
"""

import asyncio
import json
import os
import re
import signal
from pathlib import Path

from tests.support.clocks import eventually

ROOT = Path(__file__).parents[2]

_SITE = """\
import asyncio
import json
import os
import signal
from pathlib import Path

from watcher.sources import gcp_follow, level, pace

paced = pace.Pace.__init__


def hurried(self, every_s, *others):
    paced(self, every_s / 100, *others)


pace.Pace.__init__ = hurried
pace.SLOWEST_S /= 100
level.GRACE_S /= 1000
gcp_follow.MISSING_EVERY_S /= 100


def count(_number, _frame):
    path = Path(os.environ["HURRIED"])
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"tasks": len(asyncio.all_tasks())}))
    draft.rename(path)


signal.signal(signal.SIGUSR2, count)
"""


class HurriedDaemon:
    """The environment of such a daemon, and the look at what it holds.

    Args:
        path: A directory that is made for it.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir()
        (path / "sitecustomize.py").write_text(_SITE)
        self._path = path
        self._counted = path / "counted.json"

    def environment(self) -> dict[str, str]:
        """Return what makes a Python process such a daemon."""
        return {"PYTHONPATH": f"{self._path}:{ROOT}", "HURRIED": str(self._counted)}

    async def held(self, pid: int) -> dict[str, int]:
        """Count what the process holds: tasks of its loop, descriptors, threads and memory."""
        self._counted.unlink(missing_ok=True)
        os.kill(pid, signal.SIGUSR2)
        await eventually(self._counted.exists)
        tasks: dict[str, int] = json.loads(self._counted.read_text())
        status = await asyncio.to_thread(Path(f"/proc/{pid}/status").read_text)
        numbers = {name: int(number) for name, number in re.findall(r"(\w+):\s+(\d+)", status)}
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - counted, not read
        return {
            **tasks,
            "fds": descriptors,
            "threads": numbers["Threads"],
            "kib": numbers["VmRSS"],
        }

    async def holds_no_more(self, pid: int, before: dict[str, int]) -> dict[str, int]:
        """See that the process comes to hold no more than it did, and return what it holds.

        Connections are closed and tasks end a moment after what they were for. Memory has a tenth
        and 2 MiB to settle in: a hundred bytes for each of 50,000 polls would be more than that.
        """
        limits = before | {"kib": before["kib"] * 1.1 + 2048}
        async with asyncio.timeout(60):
            while True:
                held = await self.held(pid)
                if all(held[name] <= limits[name] for name in held):
                    return held
                print("still more than before:", held, before)  # noqa: T201 - shown where it fails
                await asyncio.sleep(1)
