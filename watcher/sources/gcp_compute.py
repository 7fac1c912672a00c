"""Ends of this VM that Google knows ahead and its metadata server does not tell.

One GET of the own instance, with the token of the VM's service account: a limited run time, and the
maintenance that is planned for the host. It is asked for rarely, because both are known long ahead
and a fleet shares one quota; being known, they are kept by our own clock.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable

from watcher.errors import GcpCallFailed, SourceError, SourceUnavailable
from watcher.gcp.metadata import GcpMetadata
from watcher.gcp.rest import GoogleApi
from watcher.health import SourceHealth
from watcher.notice import Moment, Notice, NoticeKind
from watcher.sources.gcp_instance import COMPUTE, FIELDS, Instance, Seen, read_instance
from watcher.sources.level import withdrawal
from watcher.sources.rarely import Rarely

log = logging.getLogger(__name__)

NAME = COMPUTE
KEY = "instance"

EVERY_S = 300.0
"""Seconds between looks. A run time can be changed while the VM runs; the policy acts 15 min before
an end, so three looks see that. A thousand VMs ask 200 times a minute, an eighth of the quota of
1,500 read requests a minute and region. Source: Compute Engine documentation, "API rate quotas"
(read 2026-11-30)."""

LASTING = ("forbidden", "not_found", "no_account")
"""Refusals that pass only when a person has done something, so there is no hurry to ask again."""

RIGHTS = (
    "give the VM's service account compute.instances.get (roles/compute.viewer), and the VM the "
    "scope compute.readonly or cloud-platform; or set gcp.compute = off. Until then a limited run "
    "time ends without a notice, and a preemption counts as announced only when it begins"
)
"""What to do where Google refuses to tell of this VM."""


class GcpCompute:
    """The notices that the Compute API has about the VM that the daemon runs on.

    Args:
        api: The Compute API.
        metadata: Says which VM this is.
        health: Where usable answers are noted, and what was learnt of the VM.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.
        learn: Is told of the VM at each look.
    """

    name = NAME
    keys = (KEY,)
    kinds = frozenset(
        {
            NoticeKind.CAPACITY_END,
            NoticeKind.MAINTENANCE,
            NoticeKind.LIVE_MIGRATION,
            NoticeKind.HARDWARE,
        }
    )
    """What it can say, and so take back."""

    def __init__(  # noqa: PLR0913 - each is one thing that the daemon has and this needs
        self,
        api: GoogleApi,
        metadata: GcpMetadata,
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: Iterable[Notice] = (),
        *,
        learn: Callable[[Instance], None] = lambda _: None,
    ) -> None:
        self.health = health
        self._learn = learn
        self._api = api
        self._metadata = metadata
        self._now = now
        self._clock = asyncio.get_running_loop().time
        self._known = {notice.id: notice for notice in adopted}
        self._rarely = Rarely(EVERY_S, LASTING)

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield each notice once, and once more when it is withdrawn."""
        while True:
            await asyncio.sleep(self._rarely.due_at - self._clock())
            for notice in await self._look():
                yield notice

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing: the API is asked again anyway."""

    async def _look(self) -> list[Notice]:
        began = self._clock()
        try:
            seen = await self._ask()
        except SourceError as error:
            error.key = KEY
            self._rarely.failed(self._clock(), error.outcome)
            raise
        self._rarely.answered(began)
        self._learn(seen.instance)
        self.health.facts |= seen.instance.facts
        what = "present" if seen.notices else "absent"
        if self.health.answered(KEY, what, self._now(), took_s=self._clock() - began):
            log.info("source answers source=%s key=%s answer=%s", NAME, KEY, what)
        return self._news(seen)

    async def _ask(self) -> Seen:
        try:
            me = await self._metadata.identity()
            path = f"/compute/v1/projects/{me.project}/zones/{me.zone}/instances/{me.name}"
            said = await self._api.call("GET", f"{path}?fields={FIELDS}")
        except GcpCallFailed as error:
            why = f"{error}; {RIGHTS}" if error.outcome in LASTING else str(error)
            raise SourceUnavailable(why, outcome=error.outcome) from error
        return read_instance(said, self._now(), me.id)

    def _news(self, seen: Seen) -> list[Notice]:
        """Return what was not known, and the withdrawal of what is not so any more."""
        news = [one for one in seen.notices if _is_news(one, self._known.get(one.id))]
        self._known |= {one.id: one for one in news}
        if not seen.instance.is_running:
            return news  # an instance on its way out may be shown without its plans
        ids = {one.id for one in seen.notices}
        gone = [one for one in self._known.values() if one.id not in ids]
        for one in gone:
            del self._known[one.id]
        kinds = {one.kind for one in seen.notices}
        return news + [withdrawal(one, "replaced" if one.kind in kinds else "over") for one in gone]


def _is_news(seen: Notice, known: Notice | None) -> bool:
    """Tell a new fact, or an earlier deadline of a known one, from another look at it."""
    if known is None:
        return True
    if seen.deadline is None or known.deadline is None:
        return False
    return seen.deadline.corrects(known.deadline)
