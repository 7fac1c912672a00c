"""What becomes of a job when a pod of it ends: podFailurePolicy and JobSet's failurePolicy.

Sources: Kubernetes, "Handling retriable and non-retriable pod failures with Pod failure policy";
JobSet v1alpha2, FailurePolicy (both read 2026-11-30). First match wins in both.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from trainer_hooks.manifest.document import Tree
from trainer_hooks.manifest.workload import Workload

_DEFAULT_BACKOFF_LIMIT = 6

_MAX_PATTERN = 256

_MAX_REPETITIONS = 3
"""Of a pattern: the time that Python's search takes has one more power of the length for each."""

_REPEATED = re.compile(r"[*+}|][^()]*\)+[*+{]")
"""Of a pattern, a repeated group with a repetition or a choice in it."""

_RESTARTS = {"RestartJobSetAndIgnoreMaxRestarts", "RestartJobAndIgnoreMaxRestarts"}
"""Of JobSet's actions, those that are not counted."""


class Fate(StrEnum):
    """What becomes of the job."""

    FREE = "starts again, not counted"
    COUNTED = "starts again, counted"
    OVER = "is given up"


@dataclass(frozen=True, slots=True)
class PodEnd:
    """How a pod ends."""

    what: str
    exit_code: int | None
    """None if no kubelet is left to report one."""
    is_disruption: bool
    """Whether the pod has the condition DisruptionTarget."""
    fate: Fate
    """What ought to become of the job."""


ENDS = (
    PodEnd("a bug (exit code 1)", 1, is_disruption=False, fate=Fate.COUNTED),
    PodEnd("too little memory (137)", 137, is_disruption=False, fate=Fate.COUNTED),
    PodEnd("a preemption (75)", 75, is_disruption=False, fate=Fate.FREE),
    PodEnd("a drained pod (75)", 75, is_disruption=True, fate=Fate.FREE),
    PodEnd("a drained pod without a handler (143)", 143, is_disruption=True, fate=Fate.FREE),
    PodEnd("a pod killed at the end of its grace (137)", 137, is_disruption=True, fate=Fate.FREE),
    PodEnd("a node that vanished", None, is_disruption=True, fate=Fate.FREE),
    PodEnd("a lost peer (76)", 76, is_disruption=False, fate=Fate.FREE),
    PodEnd("a wrong set-up (78)", 78, is_disruption=False, fate=Fate.OVER),
    PodEnd("crashes without progress (79)", 79, is_disruption=False, fate=Fate.OVER),
)
"""How pods end, and what ought to become of their job."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a job, and the lines that decide it."""

    fate: Fate
    line: int
    """Of the pod's policy."""
    set_line: int | None = None
    """Of the JobSet's, where that has a word in it."""


def verdict(workload: Workload, end: PodEnd) -> Verdict:
    """Return what becomes of a job at a pod's end."""
    policy = workload.job.at("podFailurePolicy")
    for index, rule in enumerate(policy.at("rules").items):
        if (why := _match(rule, end)) is None:
            continue
        match rule.at("action").text:
            case "Ignore":
                return Verdict(Fate.FREE, rule.line)
            case "FailJob":
                message = f"{why} matching FailJob rule at index {index}"
                return _failed(workload, "PodFailurePolicy", message, rule.line)
            case "FailIndex":
                return Verdict(Fate.OVER, rule.line)
            case "Count":
                break
    limit = workload.job.at("backoffLimit")
    if (_DEFAULT_BACKOFF_LIMIT if limit.number is None else limit.number) > 0:
        return Verdict(Fate.COUNTED, policy.line)
    message = "Job has reached the specified backoff limit"
    return _failed(workload, "BackoffLimitExceeded", message, limit.line)


def _match(rule: Tree, end: PodEnd) -> str | None:
    """Return how the Job's message would begin if a rule matches."""
    for pattern in rule.at("onPodConditions").items:
        is_on = pattern.at("status").text.lower() in ("", "true")
        if end.is_disruption and is_on and pattern.at("type").text == "DisruptionTarget":
            return "Pod default/x has condition DisruptionTarget"
    codes = rule.at("onExitCodes")
    if codes.is_there and end.exit_code:  # zero matches no operator
        values = [one.number for one in codes.at("values").items]
        if (end.exit_code in values) == (codes.at("operator").text == "In"):
            return f"Container x for pod default/x failed with exit code {end.exit_code}"
    return None


def _failed(workload: Workload, reason: str, message: str, line: int) -> Verdict:
    """Return what becomes of a job that has failed as a whole."""
    policy = workload.failure_policy
    if not workload.is_set or not policy.is_there:
        return Verdict(Fate.OVER, line)
    action, set_line = "RestartJobSet", policy.line
    for rule in policy.at("rules").items:
        reasons, patterns = rule.at("onJobFailureReasons"), rule.at("onJobFailureMessagePatterns")
        if reasons.items and reason not in reasons.texts:
            continue
        targets = rule.at("targetReplicatedJobs")
        if targets.items and workload.name not in targets.texts:
            continue
        if patterns.items and not any(_is_found(one, message) for one in patterns.texts):
            continue
        action, set_line = rule.at("action").text, rule.line
        break
    if action == "FailJobSet":
        return Verdict(Fate.OVER, line, set_line)
    if action in _RESTARTS:
        return Verdict(Fate.FREE, line, set_line)
    has_restarts = (policy.at("maxRestarts").number or 0) > 0
    return Verdict(Fate.COUNTED if has_restarts else Fate.OVER, line, set_line)


def _is_found(pattern: str, message: str) -> bool:
    """Search as RE2 does; what might run for ever here, and not there, finds nothing."""
    is_dear = len(re.findall(r"[*+?{]", pattern)) > _MAX_REPETITIONS
    if len(pattern) > _MAX_PATTERN or is_dear or _REPEATED.search(pattern):
        return False
    try:
        return re.search(pattern, message) is not None
    except re.error:
        return False
