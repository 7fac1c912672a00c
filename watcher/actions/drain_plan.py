"""What becomes of each pod on the Node at one instant of a drain; pure.

It is made from the pods as they are, and from nothing that was done before. So a daemon that is
killed and started again goes on where it was, and asks nobody twice who is ending already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from watcher.actions.drain_window import MARGIN_S, Window
from watcher.config import DrainConfig
from watcher.kube.keys import EVICT, TRAINER
from watcher.kube.objects import Pod
from watcher.notice import Moment
from watcher.trainers import Trainer, Trainers

ROUNDED_S = 1.0
"""What the times of a pod and of an answer may be off together, in seconds: both are whole ones."""


class Deed(StrEnum):
    """What is asked of the API server about a pod."""

    EVICT = "evict"
    DELETE = "delete"
    """Its budget does not count any more."""
    SHORTEN = "shorten"
    """It is ending, but beyond the deadline: it gets less time."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing to do now."""

    pod: Pod
    deed: Deed
    grace_s: int
    """What the pod gets at most, counted from when it was first asked to end."""


@dataclass(frozen=True, slots=True)
class Held:
    """A pod that is left alone for now."""

    pod: Pod
    why: str


@dataclass(frozen=True, slots=True)
class DrainPlan:
    """Every pod that the drain is about, once."""

    asks: tuple[Ask, ...]
    """The most urgent first."""
    held: tuple[Held, ...]
    ending: tuple[Pod, ...]
    """Asked to end, and not gone yet."""
    spared: tuple[Pod, ...] = ()
    """Left where they are, because their owners or the rules want it so."""

    @property
    def is_over(self) -> bool:
        """Whether no pod is left that the drain is about."""
        return not (self.asks or self.held or self.ending)


@dataclass(frozen=True, slots=True)
class _Scene:
    """What the judgement of a pod rests on."""

    trainers: Mapping[str, Sequence[Trainer]]
    """By the uid of the pod that they say they are in."""
    unknown: str
    window: Window
    rules: DrainConfig
    now: Moment

    def trains(self, pod: Pod) -> bool:
        """Tell whether a trainer is in the pod: by its own word, or by the annotation."""
        said = pod.annotations.get(TRAINER, "false")
        return pod.uid in self.trainers or said != "false"

    def spares(self, pod: Pod) -> bool:
        """Tell whether the pod is one that could be drained, and stays all the same."""
        is_meant = self.rules.scope == "all" or self.trains(pod)
        return _said(pod) == "never" or not is_meant


def stands_apart(pod: Pod) -> bool:
    """Tell whether no drain is about such a pod.

    A DaemonSet's pods tolerate everything and would be made anew at once, the kubelet's own can't
    be ended, and what has finished is not in the way.
    """
    return pod.is_mirror or pod.is_finished or pod.controller == "DaemonSet"


def plan_drain(
    pods: Sequence[Pod],
    trainers: Trainers,
    window: Window,
    rules: DrainConfig,
    now: Moment,
) -> DrainPlan:
    """Return what to do about every pod on the Node at this instant."""
    by_pod: dict[str, list[Trainer]] = {}
    for trainer in trainers.found:
        if trainer.pod_uid:
            by_pod.setdefault(trainer.pod_uid, []).append(trainer)
    scene = _Scene(by_pod, trainers.unknown, window, rules, now)
    mine = [pod for pod in pods if not stands_apart(pod)]
    spared = tuple(pod for pod in mine if scene.spares(pod))
    concerned = [pod for pod in mine if not scene.spares(pod)]
    ending = [pod for pod in concerned if pod.ends_at is not None]
    asks = [ask for pod in ending if (ask := _shortened(scene, pod))]
    held = []
    has_others = any(_said(pod) != "last" for pod in concerned)
    for pod in sorted(concerned, key=lambda one: (not scene.trains(one), one.namespace, one.name)):
        if pod.ends_at is not None:
            continue
        if window.is_forced(now):
            asks.append(Ask(pod, Deed.DELETE, _grace_s(scene, pod)))
        elif why := _why_not(scene, pod, has_others=has_others):
            held.append(Held(pod, why))
        else:
            asks.append(Ask(pod, Deed.EVICT, _grace_s(scene, pod)))
    return DrainPlan(tuple(asks), tuple(held), tuple(ending), spared)


def _said(pod: Pod) -> str:
    """Return when its owner wants it evicted: never, last, now, or nothing that we know."""
    return pod.annotations.get(EVICT, "")


def _grace_s(scene: _Scene, pod: Pod) -> int:
    """Return the pod's grace: all that is left for a trainer, and else no more than it wants."""
    left_s = scene.window.grace_s(scene.now)
    return left_s if scene.trains(pod) else max(1, min(left_s, pod.grace_s))


def _shortened(scene: _Scene, pod: Pod) -> Ask | None:
    """Return what lets a pod end in time that has been given longer, by whomever."""
    if pod.ends_at is None or pod.ending_grace_s is None:
        return None
    # By durations: the API server's clock may be hours from ours, and times of pods are by it.
    ends_in_s = (pod.ends_at - (pod.seen_at or scene.now.wall)).total_seconds()
    late_s = ends_in_s - scene.window.deadline.left_s(scene.now)
    if late_s <= ROUNDED_S:
        return None
    shorter_s = max(1, int(pod.ending_grace_s - late_s - MARGIN_S))
    return Ask(pod, Deed.SHORTEN, shorter_s) if shorter_s < pod.ending_grace_s else None


def _why_not(scene: _Scene, pod: Pod, *, has_others: bool) -> str:
    """Return what the pod waits for, if for anything."""
    if _said(pod) == "now":
        return ""
    if why := _why_training(scene, pod):
        return why
    if _said(pod) == "last" and has_others:
        return "last: others are still there"
    until_s = scene.window.begins_s + scene.rules.after_s
    if not scene.trains(pod) and scene.now.boottime_s < until_s:
        return f"until load balancers know, {scene.rules.after_s:.0f} s"
    return ""


def _why_training(scene: _Scene, pod: Pod) -> str:
    if pod.phase == "Pending":
        return ""  # nothing of it runs that could save
    said = scene.trainers.get(pod.uid, ())
    for trainer in said:
        if trainer.is_at_work(scene.now.boottime_s):
            return f"its trainer is {trainer.state}, {trainer.step} steps done"
    if not said and scene.unknown:
        return f"may train: {scene.unknown}"
    if not said and scene.trains(pod):
        return "its trainer can't say that it has saved"
    return ""
