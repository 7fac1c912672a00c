"""A VM of Compute Engine's and its metadata server as one stage for a scenario's changes."""

import logging
from collections.abc import Mapping

from aiohttp import web

from watcher.simulator.answers import compact_json
from watcher.simulator.changes import Change
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.changes import (
    EtagsRenewed,
    MaintenanceEventSet,
    MaintenanceUpcoming,
    NoMaintenanceUpcoming,
    Nothing,
    PreemptedSet,
)
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.metadata import (
    MAINTENANCE_EVENT,
    PREEMPTED,
    ROOT,
    UPCOMING,
    GcpMetadata,
)
from watcher.simulator.gcp.tree import Leaf, Tree, json_value
from watcher.simulator.gcp.upcoming import none_upcoming, upcoming
from watcher.simulator.gcp.vocabulary import WORDS

log = logging.getLogger(__name__)

NO_EVENT = "NONE"

_TOKEN = {"access_token": "ya29.simulated", "expires_in": 3599, "token_type": "Bearer"}


class GcpStage:
    """Changes the values of the tree, as the cloud does."""

    words = WORDS
    root = ROOT

    def __init__(self, clock: ScenarioClock, identity: Identity, nothing: Nothing) -> None:
        self._clock = clock
        self._tree = Tree(identity.facts() | {PREEMPTED: "FALSE", MAINTENANCE_EVENT: NO_EVENT})
        account = "instance/service-accounts/default/"
        self._tree.put(account + "token", Leaf(compact_json(_TOKEN), is_verbatim=True))
        self._metadata = GcpMetadata(self._tree)
        self._say_upcoming(none_upcoming(nothing))

    def routes(self) -> list[web.RouteDef]:
        """List the routes of the metadata server."""
        return self._metadata.routes()

    def refuse(self, change: Change) -> None:
        """Pass: every change of a value can happen at any time."""

    def apply(self, change: Change) -> None:
        """Let ``change`` happen."""
        match change:
            case PreemptedSet():
                self._tree.put(PREEMPTED, Leaf(change.value))
                log.info("%s %s", PREEMPTED, change.value)
            case MaintenanceEventSet():
                self._set_event(change.value)
            case MaintenanceUpcoming():
                self._say_upcoming(upcoming(change, self._clock.wall_time_at(change.at_s)))
            case NoMaintenanceUpcoming():
                self._say_upcoming(none_upcoming(change.said_as))
            case EtagsRenewed():
                self._tree.renew_etags()
                log.info("every ETag is new")

    def in_force(self) -> Mapping[str, object]:
        """Return what the three keys say."""
        leaf = self._tree.leaf(UPCOMING)
        return {
            "preempted": self._text(PREEMPTED),
            "maintenance_event": self._text(MAINTENANCE_EVENT),
            "upcoming_maintenance": json_value(leaf) if leaf else None,
        }

    def _text(self, path: str) -> str | None:
        leaf = self._tree.leaf(path)
        return leaf.text if leaf else None

    def _set_event(self, value: str) -> None:
        """Let the event begin or end. Nobody is warned of one who has not asked beforehand.

        Source: Compute Engine documentation, "Get live migration notices" (read 2026-11-30): the
        key has to have been queried at least once since the last event.
        """
        if value == NO_EVENT:
            self._metadata.is_armed = False
        elif not self._metadata.is_armed:
            log.info("%s begins without a warning: the key was not read", value)
            return
        self._tree.put(MAINTENANCE_EVENT, Leaf(value))
        log.info("%s %s", MAINTENANCE_EVENT, value)

    def _say_upcoming(self, leaf: Leaf | None) -> None:
        if leaf is None:
            self._tree.remove(UPCOMING)
        else:
            self._tree.put(UPCOMING, leaf)
        log.info("%s %s", UPCOMING, leaf.text if leaf else "is not there")
