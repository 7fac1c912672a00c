"""/v1/state, and the page at /: everything the daemon knows, as JSON for people and programs.

Each instant is given twice, ``<name>_at`` in RFC 3339 and ``<name>_unix_s`` in seconds; both are
null where it has not happened.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from watcher.actions.node_board import NodeBoard
from watcher.cloud import Cloud
from watcher.faces import node_view
from watcher.faces.instants import Json, instant
from watcher.faces.page import page
from watcher.faces.page_frame import HEADERS
from watcher.health import SourceHealth
from watcher.notice import Moment
from watcher.state import Entry, State
from watcher.trainers import Trainers


@dataclass(frozen=True, slots=True, kw_only=True)
class Sights:
    """Where the view looks beside the notices.

    Attributes:
        healths: One for each enabled source.
        blind_limit_s: Seconds a source may be blind before the daemon is not ready.
        board: What is known of the Node; None outside Kubernetes.
        look: Returns what the trainers say now.
    """

    healths: Sequence[SourceHealth]
    blind_limit_s: float
    board: NodeBoard | None
    look: Callable[[], Awaitable[Trainers]]


class StateView:
    """Answers /v1/state for one node: its cloud, its sources' health, the notices it knows."""

    def __init__(
        self,
        node: str,
        cloud: Cloud,
        sights: Sights,
        state: State,
        now: Callable[[], Moment],
    ) -> None:
        self._node = node
        self._cloud = cloud
        self._sights = sights
        self._state = state
        self._now = now

    async def state(self, _request: web.Request) -> web.Response:
        """Show sources with their last answers, and notices with what was done about them."""
        return web.json_response(await self._document())

    async def page(self, _request: web.Request) -> web.Response:
        """Show the same to a person."""
        text = page(await self._document())
        return web.Response(text=text, content_type="text/html", headers=HEADERS)

    async def _document(self) -> dict[str, Json]:
        sights = self._sights
        trainers = await sights.look()
        now, entries = self._now(), list(self._state.entries())
        return {
            "schema": 1,
            "node": self._node,
            "cloud": {"name": self._cloud.name, "why": self._cloud.why},
            **instant("now", now.wall),
            "ready": not any(one.unfit(now, sights.blind_limit_s) for one in sights.healths),
            "sources": {health.source: _source(health) for health in sights.healths},
            "in_force": [_entry(entry) for entry in entries if _is_in_force(entry)],
            "planned": [
                _entry(entry) for entry in entries if entry.is_planned and not entry.withdrawn
            ],
            "past": [_entry(entry) for entry in entries if entry.withdrawn is not None],
            "kubernetes": node_view.kubernetes(sights.board),
            "trainers": node_view.trainers(trainers, now),
        }


def _source(health: SourceHealth) -> Json:
    since = health.blind_since()
    return {
        **instant("blind_since", since.wall if since else None),
        "facts": dict(health.facts),
        "keys": {
            key: {
                "last_answer": state.last_answer,
                **instant("answered", state.answered.wall if state.answered else None),
                **instant("blind_since", state.blind_since.wall if state.blind_since else None),
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
        **instant("received", notice.received.wall),
        **instant("deadline", notice.deadline.wall if notice.deadline else None),
        **instant("counts_until", entry.standing.counts_until.wall),
        **instant("acts_from", acts_from.wall),
        **instant("withdrawn", entry.withdrawn.wall if entry.withdrawn else None),
        "outcome": entry.outcome or None,
        "actions": {
            name: {
                "outcome": record.outcome,
                "what": record.what,
                "attempts": record.attempts,
                **instant("tried", record.at.wall),
            }
            for name, record in entry.actions.items()
        },
    }
