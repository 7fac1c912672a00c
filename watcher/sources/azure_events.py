"""Notices from Azure's Scheduled Events: one document, read once a second.

What is asked besides it, the machine's name and approvals, goes over a connection of its own, so
that no other answer can delay an event.

Source: Azure virtual machines, "Scheduled Events for Linux VMs" (read 2026-11-30).
"""

import logging
from collections.abc import Callable
from math import inf

from watcher.errors import SourceUnavailable
from watcher.health import SourceHealth
from watcher.httpclient import Answer, HttpClient
from watcher.notice import Moment, Notice, NoticeKind
from watcher.sources.azure_approvals import Approvals
from watcher.sources.azure_config import AzureConfig
from watcher.sources.azure_document import AZURE_EVENTS, parse_document
from watcher.sources.azure_schedule import Schedule
from watcher.sources.azure_session import EVENTS_PATH, FIRST_LIMIT_S, NAME_PATH, AzureSession
from watcher.sources.azure_vm import AzureVm
from watcher.sources.lane import Lane, Look, Sight
from watcher.sources.pace import Pace
from watcher.sources.road import Site

log = logging.getLogger(__name__)

EVENTS = "scheduledevents"
NAME = "compute/name"

EVERY_S = 1.0
"""Seconds between two looks, as Azure recommends. Source: the same page, "Polling frequency"."""


class AzureEvents:
    """The notices of the machine that the daemon runs on.

    Args:
        clients: Two clients for the IMDS endpoint's base URL: for events, and for all else.
        config: Whose events are ours, and whether any is approved.
        health: Where usable answers are noted, on the keys of :meth:`keys`.
        site: The clocks, the policy, and what an earlier run of the daemon has left in force.
    """

    name = AZURE_EVENTS
    kinds = frozenset(
        {
            NoticeKind.PREEMPTION,
            NoticeKind.TERMINATION,
            NoticeKind.MAINTENANCE,
            NoticeKind.LIVE_MIGRATION,
            NoticeKind.REBALANCE,
        }
    )
    """What it can say, and so take back."""

    def __init__(
        self,
        clients: tuple[HttpClient, HttpClient],
        config: AzureConfig,
        health: SourceHealth,
        site: Site,
    ) -> None:
        events, rest = clients
        vm = AzureVm(health.facts, config.vm_name)
        self.approvals = Approvals(rest, site.now, config, site.policy)
        key = ScheduledEvents(vm, Schedule(site.left_by(self.name)), self.approvals)
        session = Named(AzureSession(events, site.now, FIRST_LIMIT_S), vm)
        look = Look(EVENTS, EVENTS_PATH, Pace(EVERY_S), key)
        # Where the name is set, what the metadata service says is only compared with it.
        ask_name = Look(NAME, NAME_PATH, Pace(inf), vm, is_vital=config.vm_name is None)
        self.lanes = (
            EventsLane(session, look, health, site.now, self.approvals),
            Lane(AZURE_EVENTS, AzureSession(rest, site.now), [ask_name], health, site.now),
        )
        """Each is run by itself, side by side."""

    @staticmethod
    def keys(config: AzureConfig) -> tuple[str, ...]:
        """Return the keys without one of which the source is blind."""
        return (EVENTS, NAME) if config.vm_name is None else (EVENTS,)


class EventsLane(Lane):
    """The lane of the events, which is told when all is done about one."""

    def __init__(
        self,
        session: "Named",
        look: Look,
        health: SourceHealth,
        now: Callable[[], Moment],
        approvals: Approvals,
    ) -> None:
        super().__init__(AZURE_EVENTS, session, [look], health, now)
        self._approvals = approvals

    def acknowledge(self, notice: Notice) -> None:
        """Let the event start early, if that is wanted."""
        self._approvals.acknowledged(notice)


class Named:
    """A session whose answers wait a moment for the machine's name, asked for meanwhile."""

    def __init__(self, session: AzureSession, vm: AzureVm) -> None:
        self._session = session
        self._vm = vm

    async def get(self, path: str) -> Answer:
        """Return the session's answer for ``path``, and if possible not before the name."""
        answer = await self._session.get(path)
        await self._vm.wait()
        return answer


class ScheduledEvents:
    """The document: a notice for each event in it that is ours."""

    def __init__(self, vm: AzureVm, schedule: Schedule, approvals: Approvals) -> None:
        self._vm = vm
        self._schedule = schedule
        self._approvals = approvals
        self._others: tuple[str, ...] = ()

    def answered(self, answer: Answer, now: Moment) -> Sight:
        """Take in a document.

        Raises:
            SourceMalformed: It is not Azure's.
            SourceUnavailable: There are events, and nobody knows whose.
        """
        document = parse_document(answer.body, now, self._vm.name)
        if self._vm.name is None and document.events:
            raise SourceUnavailable(
                f"{len(document.events)} events, and it is unknown whether they are ours: the "
                "metadata service does not say this machine's name; set azure.vm_name",
                outcome="unidentified",
            )
        if document.others != self._others:
            self._others = document.others
            log.info("ignored events of other machines: %s", ", ".join(self._others) or "none")
        self._approvals.seen(document.events)
        news = self._schedule.seen(document, now)
        return Sight("present" if document.events else "absent", news)

    def unknown(self) -> None:
        """Take in a failed fetch."""
        self._schedule.unknown()
