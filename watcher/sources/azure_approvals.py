"""Tells Azure that an event may start early, where that is wanted and concerns nobody else.

An approval counts for every machine that the event names, and it can't be taken back. So it waits
until the trainers have saved, or for a fixed time in which they may.

Source: Azure virtual machines, "Scheduled Events for Linux VMs", StartRequests (read 2026-11-30).
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable

from watcher.errors import SourceError
from watcher.httpclient import HttpClient
from watcher.notice import Moment, Notice, NoticeKind
from watcher.policy import Policy, stand
from watcher.sources.azure_config import Approve, AzureConfig
from watcher.sources.azure_document import Event
from watcher.sources.azure_session import EVENTS_PATH, HEADERS, refusal

log = logging.getLogger(__name__)


class Approvals:
    """Who has been approved, and who may be.

    Args:
        client: A client for IMDS that no event waits for.
        now: Reads both clocks.
        config: Whether anything is approved, and what for is waited.
        policy: What each kind of notice means.
    """

    def __init__(
        self,
        client: HttpClient,
        now: Callable[[], Moment],
        config: AzureConfig,
        policy: Policy,
    ) -> None:
        self._client = client
        self._now = now
        self._config = config
        self._policy = policy
        self._shown: dict[str, Event] = {}
        self._done_s: dict[str, float] = {}
        self._saved: set[str] = set()
        self._finished: set[str] = set()
        self._is_due = asyncio.Event()

    def acknowledged(self, notice: Notice) -> None:
        """Take in that all is done about a notice that can be done by now.

        Of one that is still far ahead this is nothing: it is acknowledged again when its time has
        come and the trainers have been told.
        """
        now = self._now()
        if stand(notice, self._policy).is_due(now):
            self._done_s[notice.id] = now.boottime_s

    def seen(self, events: Iterable[Event]) -> None:
        """Take in what the last document has shown; it is looked at once a second."""
        now_shown = {event.notice.id: event for event in events}
        # Not only what has just gone: a withdrawal is acknowledged when its event is long gone.
        self._done_s = {known: at for known, at in self._done_s.items() if known in now_shown}
        self._saved &= now_shown.keys()
        self._finished &= now_shown.keys()
        self._shown = now_shown
        if self._due():
            self._is_due.set()

    def waits_for_trainers(self) -> bool:
        """Tell whether there is an event that can be approved once the trainers have saved."""
        if self._config.approve is not Approve.AFTER_SAVED:
            return False
        return any(self._is_possible(event) for event in self._shown.values())

    def trainers_saved(self) -> None:
        """Take in that all trainers have saved, for whatever they were told of by now."""
        self._saved |= self._done_s.keys()
        if self._due():
            self._is_due.set()

    async def keep(self) -> None:
        """Approve what is due, until cancelled; a failure is tried again at the next look."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            for event in self._due():
                await self._approve(event)

    def _due(self) -> list[Event]:
        return [event for event in self._shown.values() if self._may_approve(event)]

    def _may_approve(self, event: Event) -> bool:
        done_s = self._done_s.get(event.notice.id)
        if done_s is None or not self._is_possible(event):
            return False
        match self._config.approve:
            case Approve.NEVER:
                return False
            case Approve.AFTER_SAVED:
                return event.notice.id in self._saved
            case Approve.AFTER_ACTIONS:
                return self._now().boottime_s - done_s >= self._config.approve_wait_s

    def _is_possible(self, event: Event) -> bool:
        if event.event_id is None or event.is_started or not event.is_alone:
            return False
        if event.notice.kind is NoticeKind.PREEMPTION:
            return False  # the approval could only take away from its 30 s
        return event.notice.id not in self._finished

    async def _approve(self, event: Event) -> None:
        body = json.dumps({"StartRequests": [{"EventId": event.event_id}]}).encode()
        try:
            answer = await self._client.call("POST", EVENTS_PATH, HEADERS, body)
            if answer.status != 200:
                raise refusal(answer.status, f"POST {EVENTS_PATH}")
        except SourceError as error:
            log.warning("event not approved %s why=%s", event.notice, error)
            return
        self._finished.add(event.notice.id)
        log.info("event approved %s", event.notice)
