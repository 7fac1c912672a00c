"""What the controllers of Job and JobSet make of ended pods, for proofs about manifests.

Written from the documentation of podFailurePolicy and of JobSet's failurePolicy, and from JobSet's
source at 08dfbdf (read 2026-11-30); it shares nothing with ``trainer_hooks.manifest``, so that both
can't have misunderstood the same thing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Manifest = Mapping[str, Any]


class State(StrEnum):
    """Where a job or a set of jobs is."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PodEnd:
    """How a pod has ended."""

    exit_code: int | None
    """None if no kubelet was left to report one."""
    is_disruption: bool = False
    """Whether it carries DisruptionTarget."""
    container: str = "trainer"


@dataclass(slots=True)
class JobController:
    """One Job, Indexed, with all its pods running."""

    spec: Manifest
    state: State = State.RUNNING
    reason: str | None = None
    message: str = ""
    counted: int = 0
    replaced: int = 0
    done: int = 0

    def pod_ended(self, end: PodEnd) -> None:
        """Take notice of a pod's end."""
        if self.state is not State.RUNNING:
            return
        if end.exit_code == 0 and not end.is_disruption:
            self.done += 1
            self.state = State.SUCCEEDED if self.done == self.spec["completions"] else self.state
            return
        action, self.message = self._decision(end)
        if action == "FailJob":
            self.state, self.reason = State.FAILED, "PodFailurePolicy"
            return
        if action != "Ignore":
            self.counted += 1
            if self.counted > self.spec.get("backoffLimit", 6):
                self.state, self.reason = State.FAILED, "BackoffLimitExceeded"
                self.message = "Job has reached the specified backoff limit"
                return
        self.replaced += 1

    def _decision(self, end: PodEnd) -> tuple[str, str]:
        rules = self.spec.get("podFailurePolicy", {}).get("rules", [])
        for index, rule in enumerate(rules):
            why = _why(rule, end)
            if why is not None:
                return rule["action"], f"{why} matching {rule['action']} rule at index {index}"
        return "Count", ""


def _why(rule: Manifest, end: PodEnd) -> str | None:
    for pattern in rule.get("onPodConditions", []):
        is_on = pattern.get("status", "True") == "True"
        if pattern["type"] == "DisruptionTarget" and is_on and end.is_disruption:
            return "Pod default/run-7-workers-0-1-x2x5q has condition DisruptionTarget"
    codes = rule.get("onExitCodes")
    # Zero never matches, whatever the operator; without a status there is nothing to match.
    if codes is None or not end.exit_code:
        return None
    if codes.get("containerName") not in (None, end.container):
        return None
    if (end.exit_code in codes["values"]) != (codes["operator"] == "In"):
        return None
    return (
        f"Container {end.container} for pod default/run-7-workers-0-1-x2x5q failed with exit code "
        f"{end.exit_code}"
    )


@dataclass(slots=True)
class JobSetController:
    """A JobSet of one replicated Job, restarted as its policy says."""

    spec: Manifest
    state: State = State.RUNNING
    restarts: int = 0
    restarts_counted: int = 0
    job: JobController = field(init=False)

    def __post_init__(self) -> None:
        """Start the Job."""
        self.job = self._new_job()

    def pod_ended(self, *ends: PodEnd) -> None:
        """Take notice of some pods' ends, in their order."""
        for end in ends:
            self.job.pod_ended(end)
        if self.job.state is State.SUCCEEDED:
            self.state = State.SUCCEEDED
        if self.job.state is not State.FAILED or self.state is not State.RUNNING:
            return
        policy = self.spec.get("failurePolicy")
        action = "FailJobSet" if policy is None else self._action(policy.get("rules", []))
        is_counted = action == "RestartJobSet"
        limit = 0 if policy is None else policy.get("maxRestarts", 0)
        if action == "FailJobSet" or (is_counted and self.restarts_counted >= limit):
            self.state = State.FAILED
            return
        self.restarts += 1
        self.restarts_counted += is_counted
        self.job = self._new_job()

    def _new_job(self) -> JobController:
        return JobController(self.spec["replicatedJobs"][0]["template"]["spec"])

    def _action(self, rules: Sequence[Manifest]) -> str:
        for rule in rules:
            reasons = rule.get("onJobFailureReasons", [])
            patterns = rule.get("onJobFailureMessagePatterns", [])
            targets = rule.get("targetReplicatedJobs", [])
            if reasons and self.job.reason not in reasons:
                continue
            if patterns and not any(re.search(one, self.job.message) for one in patterns):
                continue
            if targets and self.spec["replicatedJobs"][0]["name"] not in targets:
                continue
            return str(rule["action"])
        return "RestartJobSet"
