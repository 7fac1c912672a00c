"""What the Compute API knows of a fleet: ends that are known ahead, and preemptions that were.

The nodes learn of their own ends by themselves; here it is for who looks at all of them, and for
those that can say nothing any more: an operation tells a node that was preempted from one that
crashed. It is the same notice as the audit log's entry about it, and delivered once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from watcher.errors import GcpCallFailed, SourceError, SourceUnavailable
from watcher.gcp.library import PREEMPTED, ComputeLibrary, Operation
from watcher.health import SourceHealth
from watcher.notice import Moment
from watcher.side_thread import SideThread
from watcher.sources.gcp_compute import EVERY_S, LASTING
from watcher.sources.gcp_entry import Record
from watcher.sources.gcp_instance import read_instance
from watcher.sources.rarely import Rarely
from watcher.sources.reading import ForInstance
from watcher.sources.remembered import Remembered
from watcher.sources.times import rfc3339_instant

log = logging.getLogger(__name__)

INSTANCES, OPERATIONS = "instances", "operations"
KEYS = (INSTANCES, OPERATIONS)

OPERATIONS_EVERY_S = 60.0
"""Seconds between looks at the operations: they are evidence, and each look is one call a zone."""

BACK_S = 900.0
"""How far back operations count, in seconds: further than a relay is away when it is restarted, and
than the Compute API is; what is older helps nobody to decide anything."""

_TEXT_LIMIT_CHARS = 256

T = TypeVar("T")


class Deliverer(Protocol):
    """Who hands notices over, each once."""

    async def deliver(self, told: ForInstance) -> bool:
        """Hand a notice over unless that has been done; tell whether that is done with."""
        ...


@dataclass(frozen=True, slots=True)
class Fleet:
    """Which VMs are looked at.

    Attributes:
        library: The Compute API for their project.
        zones: Where they are.
        label: ``KEY`` or ``KEY=VALUE`` that they carry; None for every VM there.
    """

    library: ComputeLibrary
    zones: Sequence[str]
    label: str | None


class FleetWatch:
    """Looks at a fleet now and then; :meth:`keep` has to run for as long as that is wanted.

    Args:
        fleet: The fleet.
        delivery: Gets the notices.
        health: Where usable answers are noted.
        now: Reads both clocks.
    """

    def __init__(
        self,
        fleet: Fleet,
        delivery: Deliverer,
        health: SourceHealth,
        now: Callable[[], Moment],
    ) -> None:
        self.health = health
        self._fleet = fleet
        self._delivery = delivery
        self._now = now
        self._clock = asyncio.get_running_loop().time
        self._thread = SideThread[list[Any]]("gcp-fleet")
        self._members = Remembered(now)
        self._members_known = asyncio.Event()

    async def keep(self) -> None:
        """Look at the VMs and at the operations, each at its own pace, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep(INSTANCES, EVERY_S, self._instances))
            if self._fleet.label is not None:
                await self._members_known.wait()  # an operation does not say a VM's labels
            group.create_task(self._keep(OPERATIONS, OPERATIONS_EVERY_S, self._operations))

    async def _keep(
        self, key: str, every_s: float, look: Callable[[], Awaitable[list[ForInstance]]]
    ) -> None:
        rarely = Rarely(every_s, LASTING)
        while True:
            await asyncio.sleep(rarely.due_at - self._clock())
            began = self._clock()
            try:
                told = await look()
            except SourceError as error:
                error.key = key
                rarely.failed(self._clock(), error.outcome)
                if self.health.failed(error, self._now()):
                    log.warning("fleet unknown key=%s outcome=%s why=%s", key, error.outcome, error)
                continue
            rarely.answered(began)
            what = "present" if told else "absent"
            if self.health.answered(key, what, self._now(), took_s=self._clock() - began):
                log.info("fleet known key=%s answer=%s", key, what)
            await asyncio.gather(*(self._delivery.deliver(one) for one in told))

    async def _instances(self) -> list[ForInstance]:
        """Return every end of a VM that is known ahead."""
        fleet, found = self._fleet, list[ForInstance]()
        for zone in fleet.zones:
            for said in await self._asked(partial(fleet.library.instances, zone, fleet.label)):
                seen = read_instance(said, self._now(), None)
                instance_id = str(said["id"])
                self._members.add(instance_id)
                found += [ForInstance(notice=one, instance_id=instance_id) for one in seen.notices]
        self._members_known.set()
        return found

    async def _operations(self) -> list[ForInstance]:
        """Return the preemptions of our VMs that were recorded lately."""
        fleet, found = self._fleet, list[ForInstance]()
        since = self._now().wall - timedelta(seconds=BACK_S)
        for zone in fleet.zones:
            for one in await self._asked(partial(fleet.library.preemptions, zone, since)):
                if fleet.label is None or one.instance_id in self._members:
                    found.append(_told(one, self._now()))
        return found

    async def _asked(self, ask: Callable[[], list[T]]) -> list[T]:
        try:
            return cast("list[T]", await self._thread.call(lambda: ask))
        except GcpCallFailed as error:
            raise SourceUnavailable(str(error), outcome=error.outcome) from error


def _told(operation: Operation, received: Moment) -> ForInstance:
    """Return the notice that an operation is."""
    emitted = rfc3339_instant(operation.inserted)
    words = {"timestamp": operation.inserted, "resourceName": operation.target}
    return Record(
        method=PREEMPTED,
        name=operation.name or None,
        instance_id=operation.instance_id,
        emitted=emitted,
        words={name: said[:_TEXT_LIMIT_CHARS] for name, said in words.items()},
        odd=[] if emitted else [f"insertTime {operation.inserted!r:.80}"],
    ).told(received)
