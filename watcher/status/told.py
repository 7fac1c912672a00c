"""What the daemon has told of itself, as the command shows it: the part of /v1/state that it reads.

Instants are seconds of Unix time.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTold:
    """The last word on one thing that a source asks for."""

    source: str
    key: str
    last_answer: str
    answered_s: float | None
    blind_since_s: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTold:
    """What an action has come to."""

    name: str
    outcome: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeTold:
    """One notice."""

    id: str
    kind: str
    urgency: str
    source: str
    received_s: float
    has_deadline: bool
    counts_until_s: float
    acts_from_s: float
    actions: tuple[ActionTold, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTold:
    """The Kubernetes Node."""

    name: str
    is_unschedulable: bool
    is_cordoned_by_us: bool
    taints: tuple[str, ...]
    seen_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsTold:
    """The pods that leave."""

    to_evict: int
    evicted: int
    gone: int
    held: int
    held_by: Mapping[str, str]
    blocked: int
    blocked_by: Mapping[str, str]
    forced: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerTold:
    """One trainer, by its own word."""

    id: str
    state: str
    is_alive: bool
    heartbeat_age_s: float
    step: int
    committed_step: int | None
    committed_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTold:
    """The whole document; lists in its order."""

    node: str
    cloud: str
    cloud_why: str
    now_s: float
    is_ready: bool
    keys: tuple[KeyTold, ...]
    in_force: tuple[NoticeTold, ...]
    planned: tuple[NoticeTold, ...]
    is_in_cluster: bool
    kubernetes_node: NodeTold | None
    pods: PodsTold | None
    trainers: tuple[TrainerTold, ...]
    refused: Mapping[str, str]
    unknown: str
