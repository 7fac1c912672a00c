"""/v1/state as the command reads it: what came over the wire, checked. Pure.

Whoever listens on the address may have sent it, so what is not of its shape is refused. Fields that
are not read here may be anything.
"""

import json
import math
from typing import Any

from watcher.errors import SourceMalformed
from watcher.status.told import (
    ActionTold,
    KeyTold,
    NodeTold,
    NoticeTold,
    PodsTold,
    StateTold,
    TrainerTold,
)

SCHEMA = 1

_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)


def read_state(body: bytes) -> tuple[StateTold, object]:
    """Return what the document says, and the document as it came.

    Raises:
        SourceMalformed: It is not the daemon's.
    """
    try:
        document = json.loads(body)
        return _state(document), document
    except _DAMAGE as error:
        why = f"{type(error).__name__}: {error}"[:128]
        raise SourceMalformed(f"the answer is no state of a daemon's: {why}") from error


def _state(said: Any) -> StateTold:  # noqa: ANN401 - whatever JSON it was
    if said["schema"] != SCHEMA:
        raise ValueError(f"schema {said['schema']!r:.32}, and this command reads {SCHEMA}")
    cluster = said["kubernetes"] or {}
    node, pods = cluster.get("node"), cluster.get("pods")
    trainers = said["trainers"]
    return StateTold(
        node=_text(said["node"]),
        cloud=_text(said["cloud"]["name"]),
        cloud_why=_text(said["cloud"]["why"]),
        now_s=_number(said["now_unix_s"]),
        is_ready=_truth(said["ready"]),
        keys=tuple(
            _key(_text(source), _text(name), key)
            for source, one in said["sources"].items()
            for name, key in one["keys"].items()
        ),
        in_force=tuple(_notice(one) for one in _every(said["in_force"])),
        planned=tuple(_notice(one) for one in _every(said["planned"])),
        is_in_cluster=said["kubernetes"] is not None,
        kubernetes_node=_node(node) if node else None,
        pods=_pods(pods) if pods else None,
        trainers=tuple(_trainer(one) for one in _every(trainers["found"])),
        refused=_texts(trainers["refused"]),
        unknown=_text(trainers["unknown"] or ""),
    )


def _key(source: str, name: str, said: Any) -> KeyTold:  # noqa: ANN401 - likewise, to the end
    return KeyTold(
        source=source,
        key=name,
        last_answer=_text(said["last_answer"]),
        answered_s=_number_or_none(said["answered_unix_s"]),
        blind_since_s=_number_or_none(said["blind_since_unix_s"]),
        why=_text(said["why"]),
    )


def _notice(said: Any) -> NoticeTold:  # noqa: ANN401
    return NoticeTold(
        id=_text(said["id"]),
        kind=_text(said["kind"]),
        urgency=_text(said["urgency"]),
        source=_text(said["source"]),
        received_s=_number(said["received_unix_s"]),
        has_deadline=said["deadline_unix_s"] is not None,
        counts_until_s=_number(said["counts_until_unix_s"]),
        acts_from_s=_number(said["acts_from_unix_s"]),
        actions=tuple(
            ActionTold(name=_text(name), outcome=_text(one["outcome"]), what=_text(one["what"]))
            for name, one in said["actions"].items()
        ),
    )


def _node(said: Any) -> NodeTold:  # noqa: ANN401
    return NodeTold(
        name=_text(said["name"]),
        is_unschedulable=_truth(said["unschedulable"]),
        is_cordoned_by_us=_truth(said["cordoned_by_us"]),
        taints=tuple(_text(one) for one in _every(said["taints"])),
        seen_s=_number(said["seen_unix_s"]),
    )


def _pods(said: Any) -> PodsTold:  # noqa: ANN401
    return PodsTold(
        to_evict=_count(said["to_evict"]),
        evicted=_count(said["evicted"]),
        gone=_count(said["gone"]),
        held=_count(said["held"]),
        held_by=_texts(said["held_by"]),
        blocked=_count(said["blocked"]),
        blocked_by=_texts(said["blocked_by"]),
        forced=_count(said["forced"]),
    )


def _trainer(said: Any) -> TrainerTold:  # noqa: ANN401
    committed_step = said["committed_step"]
    return TrainerTold(
        id=_text(said["id"]),
        state=_text(said["state"]),
        is_alive=_truth(said["alive"]),
        heartbeat_age_s=_number(said["heartbeat_age_s"]),
        step=_count(said["step"]),
        committed_step=None if committed_step is None else _count(committed_step),
        committed_s=_number_or_none(said["committed_unix_s"]),
    )


def _every(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"no list: {value!r:.32}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r:.32}")
    return value


def _texts(value: Any) -> dict[str, str]:  # noqa: ANN401
    return {_text(name): _text(one) for name, one in value.items()}


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"neither true nor false: {value!r:.32}")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"no whole number: {value!r:.32}")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"no number: {value!r:.32}")
    if not math.isfinite(value):
        raise ValueError("no finite number")
    return float(value)


def _number_or_none(value: object) -> float | None:
    return None if value is None else _number(value)
