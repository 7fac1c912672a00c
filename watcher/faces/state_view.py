"""/v1/state: everything the daemon knows, as JSON for people and programs.

Each instant is given twice, ``<name>_at`` in RFC 3339 and ``<name>_unix_s`` in seconds; both are
null where it has not happened.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from aiohttp import web

from watcher.cloud import Cloud
from watcher.health import SourceHealth
from watcher.notice import Moment, rfc3339
from watcher.state import Entry, State

Json = str | float | bool | list["Json"] | dict[str, "Json"] | None


class StateView:
    """Answers /v1/state for one node: its cloud, its sources' health, the notices it knows."""

    def __init__(
        self,
        node: str,
        cloud: Cloud,
        healths: Sequence[SourceHealth],
        state: State,
        now: Callable[[], Moment],
    ) -> None:
        self._node = node
        self._cloud = cloud
        self._healths = healths
        self._state = state
        self._now = now

    async def state(self, _request: web.Request) -> web.Response:
        """Show sources with their last answers, and notices with what was done about them."""
        entries = list(self._state.entries())
        document: dict[str, Json] = {
            "schema": 1,
            "node": self._node,
            "cloud": {"name": self._cloud.name, "why": self._cloud.why},
            **_instant("now", self._now().wall),
            "sources": {health.source: _source(health) for health in self._healths},
            "in_force": [_entry(entry) for entry in entries if _is_in_force(entry)],
            "planned": [
                _entry(entry) for entry in entries if entry.is_planned and not entry.withdrawn
            ],
            "past": [_entry(entry) for entry in entries if entry.withdrawn is not None],
        }
        return web.json_response(document)


def _source(health: SourceHealth) -> Json:
    since = health.blind_since()
    return {
        **_instant("blind_since", since.wall if since else None),
        "facts": dict(health.facts),
        "keys": {
            key: {
                "last_answer": state.last_answer,
                **_instant("answered", state.answered.wall if state.answered else None),
                **_instant("blind_since", state.blind_since.wall if state.blind_since else None),
                "why": state.why,
            }
            for key, state in health.keys.items()
        },
    }


def _is_in_force(entry: Entry) -> bool:
    return entry.withdrawn is None and not entry.is_planned


def _entry(entry: Entry) -> Json:
    notice = entry.standing.notice
    acts_from = entry.standing.acts_from or notice.received
    return {
        "id": notice.id,
        "kind": notice.kind,
        "urgency": entry.standing.urgency,
        "source": notice.source,
        "action": notice.action,
        "instance_id": notice.instance_id,
        "detail": dict(notice.detail),
        **_instant("received", notice.received.wall),
        **_instant("deadline", notice.deadline.wall if notice.deadline else None),
        **_instant("counts_until", entry.standing.counts_until.wall),
        **_instant("acts_from", acts_from.wall),
        **_instant("withdrawn", entry.withdrawn.wall if entry.withdrawn else None),
        "outcome": entry.outcome or None,
        "actions": {
            name: {
                "outcome": record.outcome,
                "what": record.what,
                "attempts": record.attempts,
                **_instant("tried", record.at.wall),
            }
            for name, record in entry.actions.items()
        },
    }


def _instant(name: str, wall: datetime | None) -> dict[str, Json]:
    return {
        f"{name}_at": rfc3339(wall) if wall else None,
        f"{name}_unix_s": wall.timestamp() if wall else None,
    }
