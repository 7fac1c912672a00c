"""The node in /v1/state: its Kubernetes Node, the pods that leave it, and the trainers on it."""

from collections.abc import Iterable, Mapping

from watcher.actions.node_board import NodeBoard, NodeSeen, PodsSeen
from watcher.faces.instants import Json, instant
from watcher.notice import Moment
from watcher.trainers import Trainer, Trainers

SHOWN_LIMIT = 32
"""Most pods that are named; they are all counted."""


def kubernetes(board: NodeBoard | None) -> Json:
    """Return what is known of Node and pods; null outside Kubernetes."""
    if board is None:
        return None
    return {
        "node": _node(board.node) if board.node else None,
        "pods": _pods(board.pods) if board.pods else None,
    }


def _node(node: NodeSeen) -> Json:
    return {
        "name": node.name,
        "unschedulable": node.is_unschedulable,
        "cordoned_by_us": node.is_cordoned_by_us,
        "taints": list(node.taints),
        **instant("seen", node.at.wall),
    }


def _pods(pods: PodsSeen) -> Json:
    return {
        "to_evict": pods.to_evict,
        "evicted": pods.evicted,
        "gone": pods.gone,
        "held": len(pods.held),
        "held_by": _first(pods.held),
        "blocked": len(pods.blocked),
        "blocked_by": _first(pods.blocked),
        "forced": len(pods.forced),
        **instant("seen", pods.at.wall),
    }


def _first(why: Mapping[str, str]) -> dict[str, Json]:
    return dict(sorted(why.items())[:SHOWN_LIMIT])


def trainers(said: Trainers, now: Moment) -> Json:
    """Return what the trainers on this node say of themselves."""
    return {
        "found": [_trainer(one, now) for one in _in_order(said.found)],
        "refused": dict[str, Json](sorted(said.refused.items())),
        "unknown": said.unknown or None,
    }


def _in_order(found: Iterable[Trainer]) -> list[Trainer]:
    return sorted(found, key=lambda one: one.id)


def _trainer(trainer: Trainer, now: Moment) -> Json:
    return {
        "id": trainer.id,
        "pod_uid": trainer.pod_uid or None,
        "state": trainer.state,
        "alive": trainer.is_alive(now.boottime_s),
        "heartbeat_age_s": now.boottime_s - trainer.heartbeat_s,
        "step": trainer.step,
        "committed_step": trainer.committed_step,
        **instant("committed", trainer.committed_at),
    }
