"""What goes wrong on demand: refusals, and connections that misbehave."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum

from tests.fakes.kube.access import Target
from tests.fakes.kube.refusals import Refusal


class Trouble(StrEnum):
    """What a connection can do instead of carrying an answer."""

    HANG = "hang"
    """The request is taken, nothing is done, and no answer comes until the faults are lifted."""
    RESET = "reset"
    """Nothing is done, and the connection ends."""
    LOST = "lost"
    """All is done, and the connection ends before the answer."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """What is answered in the API server's place; nothing is done."""

    body: bytes
    status: int = 200
    encoding: str = ""
    """As the header Content-Encoding says."""


What = Refusal | Trouble | Garbage
"""Each way in which a request can be spoilt."""


@dataclass(slots=True)
class Fault:
    """One thing that goes wrong, for the requests that it fits; ``*`` fits all."""

    what: What
    verb: str = "*"
    resource: str = "*"
    name: str = "*"
    times: int | None = None
    """How often, None for until it is lifted."""

    def fits(self, target: Target) -> bool:
        """Tell whether it is this request that it spoils."""
        pairs = ((self.verb, target.verb), (self.resource, target.resource))
        return all(some in ("*", one) for some, one in (*pairs, (self.name, target.name)))


class Faults:
    """The faults in force."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lifted = asyncio.Event()

    def add(
        self,
        what: What,
        *,
        verb: str = "*",
        resource: str = "*",
        name: str = "*",
        times: int | None = None,
    ) -> None:
        """Spoil the requests that fit from now on, ``times`` times or until it is lifted."""
        self._faults.append(Fault(what, verb, resource, name, times))

    def lift(self) -> None:
        """End every fault; a request that hangs loses its connection."""
        self._faults.clear()
        lifted, self._lifted = self._lifted, asyncio.Event()
        lifted.set()

    def next(self, target: Target) -> What | None:
        """Return what becomes of a request; None where nothing is wrong."""
        for fault in self._faults:
            if fault.fits(target) and fault.times != 0:
                fault.times = None if fault.times is None else fault.times - 1
                return fault.what
        return None

    async def lifted(self) -> None:
        """Wait until every fault is lifted."""
        await self._lifted.wait()
