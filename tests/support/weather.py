"""Faults at random, of every kind that the simulator has."""

import os
import random
from collections.abc import Collection, Sequence

from tests.support.watcher_process import control
from watcher.simulator.faults import FaultKind

STATUSES = (401, 403, 404, 429, 500, 503)


def seeded() -> random.Random:
    """Return the chance of this run, and print the seed that makes it happen again."""
    seed = int(os.environ.get("REPRIEVE_SEED", random.randrange(2**32)))  # noqa: S311 - no secret
    print(f"REPRIEVE_SEED={seed}")  # noqa: T201 - shown where the test fails
    return random.Random(seed)  # noqa: S311 - likewise


class Weather:
    """Makes one fault after the other in a simulator.

    Args:
        url: The simulator's.
        chance: What kind it is, and how often it happens.
        absences: Paths of which a script may say for once that there is nothing: one 404 of these
            takes nothing back.
        own: What this cloud's simulator has beside the faults of all.
    """

    def __init__(
        self, url: str, chance: random.Random, absences: Sequence[str], own: Sequence[str] = ()
    ) -> None:
        self.url = url
        self._chance = chance
        self._absences = absences
        self._kinds = (*FaultKind, *own)
        self.made: dict[str, int] = dict.fromkeys(self._kinds, 0)
        """How many there have been, by kind."""

    async def worsen(self, spared: Collection[str] = ()) -> None:
        """Make a fault of any kind but those ``spared``, to a request or three."""
        kind = self._chance.choice([one for one in self._kinds if one not in spared])
        self.made[kind] += 1
        fields: dict[str, object] = {"kind": str(kind)}
        if isinstance(kind, FaultKind):
            fields["count"] = self._chance.randint(1, 3)
        if kind == FaultKind.SLOW:
            fields["delay_s"] = 0.3
        if kind == FaultKind.STATUS:
            fields["status"] = self._chance.choice(STATUSES)
        if kind == FaultKind.ANSWER:
            path = self._chance.choice(self._absences)
            fields |= {"count": 1, "status": 404, "body": "no such thing", "path_prefix": path}
        await control(self.url, "fault", **fields)
