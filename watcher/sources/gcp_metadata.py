"""Notices from Compute Engine's metadata server: the keys that are followed, each by itself.

Every key has a connection and a state of its own, so that neither an answer that is held back nor a
"no" of one is another's. The facts about the VM share one more connection.

Source: Compute Engine documentation, "VM metadata entries" (read 2026-11-30).
"""

from collections.abc import Callable, Iterable
from math import inf

from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.notice import Moment, Notice, NoticeKind
from watcher.sources.gcp_follow import Followed, Follower
from watcher.sources.gcp_keys import followed_keys
from watcher.sources.gcp_preemption import EVENT, METADATA, PREEMPTED
from watcher.sources.gcp_session import GcpSession
from watcher.sources.gcp_upcoming import UPCOMING
from watcher.sources.gcp_vm import PATHS, Fact, GcpVm
from watcher.sources.lane import Lane, Look
from watcher.sources.pace import Pace

NAME = METADATA
KEYS = (PREEMPTED, EVENT, UPCOMING)
"""Without one of these the source is blind."""

CONNECTIONS = len(KEYS) + 1

HOLD_S = 5
"""Seconds for which the server is to hold an answer back, where seconds count. Google's agent asks
for 60, at which a connection that has died is noticed too late for a window of 30 s: a VM that was
moved to another host is told nothing of its old connections. Source: google-guest-agent,
metadata.go (read 2026-11-30)."""

UPCOMING_HOLD_S = 60
"""The same for what is announced days ahead."""


class GcpMetadataKeys:
    """The notices of the VM that the daemon runs on, as several sources in one.

    Args:
        clients: As many clients for the metadata server's base URL as CONNECTIONS.
        health: Where usable answers are noted, and what was learnt of the VM.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.
        vm: What is known of the VM.
        event_notice_s: How long ahead a maintenance event is announced, where that was set.
    """

    name = NAME
    keys = KEYS
    kinds = frozenset(
        {
            NoticeKind.PREEMPTION,
            NoticeKind.MAINTENANCE,
            NoticeKind.LIVE_MIGRATION,
            NoticeKind.HARDWARE,
        }
    )
    """What it can say, and so take back."""

    def __init__(  # noqa: PLR0913 - each is one thing that the daemon has and this needs
        self,
        clients: Iterable[HttpClient],
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: Iterable[Notice] = (),
        *,
        vm: GcpVm | None = None,
        event_notice_s: float | None = None,
    ) -> None:
        self.vm = GcpVm(health.facts) if vm is None else vm
        preempted, event, upcoming = followed_keys(self.vm, tuple(adopted), event_notice_s)
        *sessions, rest = [GcpSession(client) for client in clients]
        followed = (
            Followed(PREEMPTED, PREEMPTED, HOLD_S, preempted),
            Followed(EVENT, EVENT, HOLD_S, event),
            Followed(UPCOMING, f"{UPCOMING}?alt=json", UPCOMING_HOLD_S, upcoming),
        )
        facts = [
            Look(path, path, Pace(inf), Fact(path, self.vm.learn), is_vital=False) for path in PATHS
        ]
        self.lanes: tuple[Follower | Lane, ...] = (
            *(
                Follower(NAME, session, one, health, now)
                for session, one in zip(sessions, followed, strict=True)
            ),
            Lane(NAME, rest, facts, health, now),
        )
        """Each is run by itself, side by side."""
