"""Defects of failure policies: what ought to be free is counted, or the other way round."""

from collections import defaultdict
from collections.abc import Iterator

from trainer_hooks.manifest.document import Tree
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.verdict import ENDS, Fate, Verdict, verdict
from trainer_hooks.manifest.workload import Workload

_JOB_MEND = (
    "podFailurePolicy, in this order: {again} on DisruptionTarget, {again} on exit codes In "
    "[75, 76], FailJob on In [78, 79], and no rule for crashes"
)

_DEFECTS = {
    (Fate.FREE, Fate.COUNTED): ("preemption-counted", "spends a restart", Weight.ERROR),
    (Fate.FREE, Fate.OVER): ("preemption-final", "ends the job", Weight.ERROR),
    (Fate.COUNTED, Fate.FREE): (
        "crash-not-counted",
        "starts the job again for ever, and is never counted",
        Weight.ERROR,
    ),
    (Fate.COUNTED, Fate.OVER): ("crash-final", "ends the job at the first time", Weight.ADVICE),
    (Fate.OVER, Fate.FREE): (
        "endless-restart",
        "starts the job again for ever, though nothing will be better",
        Weight.ERROR,
    ),
    (Fate.OVER, Fate.COUNTED): (
        "useless-restart",
        "starts the job again, though nothing will be better",
        Weight.ADVICE,
    ),
}
"""By what ought to become of a job, and what does."""


def lint_policy(workload: Workload) -> Iterator[Finding]:
    """Name what is wrong with the failure policies of a job."""
    yield from _restart_policy(workload)
    policy = workload.job.at("podFailurePolicy")
    if not policy.is_there:
        yield Finding(
            workload.job.line,
            "no-pod-failure-policy",
            "without podFailurePolicy a preemption counts as a crash",
            _mend(workload),
        )
    else:
        yield from _misjudged(workload)
    for rule in policy.at("rules").items:
        yield from _rule(rule, workload)
    replacement = workload.job.at("podReplacementPolicy")
    if policy.is_there and replacement.text == "TerminatingOrFailed":
        yield Finding(
            replacement.line,
            "pod-replacement",
            "with podFailurePolicy the API server takes podReplacementPolicy Failed only",
            "podReplacementPolicy: Failed, or nothing",
        )
    if workload.is_set:
        yield from _set(workload)


def _restart_policy(workload: Workload) -> Iterator[Finding]:
    restart = workload.pod.at("restartPolicy")
    if restart.text == "Never":
        return
    default = "OnFailure by JobSet's default" if workload.is_set else "missing"
    said = restart.text or default
    yield Finding(
        restart.line,
        "restart-policy",
        f"restartPolicy is {said}: the API server refuses it beside podFailurePolicy, and without "
        "one the kubelet starts the trainer again on the node that goes",
        "restartPolicy: Never",
    )


def _misjudged(workload: Workload) -> Iterator[Finding]:
    found = defaultdict[tuple[Verdict, Fate], list[str]](list)
    for end in ENDS:
        given = verdict(workload, end)
        if given.fate is not end.fate:
            found[given, end.fate].append(end.what)
    for (given, expected), ends in found.items():
        rule, what, weight = _DEFECTS[expected, given.fate]
        by = "" if given.set_line is None else f" (by this and line {given.set_line})"
        message = f"{' or '.join(ends)} {what}{by}"
        yield Finding(given.line, rule, message, _mend(workload), weight)


def _mend(workload: Workload) -> str:
    mend = _JOB_MEND.format(again="FailJob" if workload.is_set else "Ignore")
    if not workload.is_set:
        return mend
    return (
        f"{mend}; backoffLimit 0; in failurePolicy FailJobSet on the message "
        "'exit code 7[89] matching', then RestartJobSetAndIgnoreMaxRestarts on PodFailurePolicy"
    )


def _rule(rule: Tree, workload: Workload) -> Iterator[Finding]:
    codes = rule.at("onExitCodes")
    if codes.is_there == rule.at("onPodConditions").is_there:
        yield Finding(
            rule.line,
            "rule-without-cause",
            "a rule has either onExitCodes or onPodConditions; the API server refuses this one",
            "one rule for each",
        )
    values = {tree.number: tree.line for tree in codes.at("values").items}
    if 0 in values:
        yield Finding(
            values[0],
            "exit-code-0",
            "0 is no failure: In refuses it, and NotIn leaves it out anyway",
            "take it out",
        )
    if 143 in values:
        yield Finding(
            values[143],
            "exit-code-143",
            "143 is what a process ends with that does not handle SIGTERM, so nothing was saved; "
            "under torchrun, which exits with 1, it never comes",
            "start the script with reprieve-trainer launch, which exits with 75",
        )
    container = codes.at("containerName")
    names = [one.at("name").text for one in workload.pod.at("containers").items]
    if container.is_there and container.text not in names:
        yield Finding(
            container.line,
            "rule-for-nobody",
            f"no container is called {container.text}: this rule never matches",
            f"containerName: one of {', '.join(names)}, or nothing",
        )


def _set(workload: Workload) -> Iterator[Finding]:
    if not workload.failure_policy.is_there:
        yield Finding(
            workload.root.at("spec").line,
            "no-failure-policy",
            "without failurePolicy the first pod that fails, for whatever reason, ends the JobSet",
            _mend(workload),
        )
    limit = workload.job.at("backoffLimit")
    if limit.number != 0:
        yield Finding(
            limit.line,
            "backoff-limit",
            f"backoffLimit is {6 if limit.number is None else limit.number}: a crashed pod is "
            "replaced alone, and waits for peers that are lost in a collective",
            "backoffLimit: 0; JobSet starts all of them again",
        )
