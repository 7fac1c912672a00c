"""Lint's idea of the failure policies, held against a model that was written apart from it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import job_controllers
from tests.support.job_controllers import JobController, JobSetController, State
from trainer_hooks.launch.exit_codes import EXIT_CONFIG, EXIT_PREEMPTED
from trainer_hooks.manifest.document import read_documents
from trainer_hooks.manifest.verdict import ENDS, Fate, PodEnd, verdict
from trainer_hooks.manifest.workload import workloads

CODES = st.sampled_from([1, 75, 76, 78, 79, 137, 143])

POD_RULE = st.fixed_dictionaries(
    {"action": st.sampled_from(["FailJob", "Ignore", "Count"])},
).flatmap(
    lambda rule: st.one_of(
        st.builds(
            lambda operator, values: (
                rule | {"onExitCodes": {"operator": operator, "values": values}}
            ),
            st.sampled_from(["In", "NotIn"]),
            st.lists(CODES, min_size=1, max_size=4, unique=True),
        ),
        st.builds(
            lambda status: (
                rule | {"onPodConditions": [{"type": "DisruptionTarget", "status": status}]}
            ),
            st.sampled_from(["True", "False"]),
        ),
    )
)

SET_RULE = st.fixed_dictionaries(
    {
        "action": st.sampled_from(
            ["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"]
        )
    },
    optional={
        "onJobFailureReasons": st.lists(
            st.sampled_from(["PodFailurePolicy", "BackoffLimitExceeded"]), min_size=1, max_size=2
        ),
        "targetReplicatedJobs": st.sampled_from([["workers"], ["leader"], ["leader", "workers"]]),
        "onJobFailureMessagePatterns": st.lists(
            st.sampled_from(
                ["exit code 7[89] matching", "DisruptionTarget", "rule at index 0$", "backoff"]
            ),
            min_size=1,
            max_size=2,
        ),
    },
)

JOB = st.fixed_dictionaries(
    {"backoffLimit": st.sampled_from([0, 3]), "completions": st.just(2)},
    optional={"podFailurePolicy": st.fixed_dictionaries({"rules": st.lists(POD_RULE, max_size=4)})},
)

SET_POLICY = st.fixed_dictionaries(
    {"maxRestarts": st.sampled_from([0, 2])}, optional={"rules": st.lists(SET_RULE, max_size=3)}
)

ENDED = st.builds(
    PodEnd,
    st.just(""),
    st.one_of(st.none(), CODES),
    is_disruption=st.booleans(),
    fate=st.just(Fate.FREE),
)


def fate_of(manifest: dict[str, Any], end: PodEnd) -> Fate:
    """Return what lint makes of it, from the text of the manifest."""
    [document] = read_documents(json.dumps(manifest)).documents
    [workload] = workloads(document)
    return verdict(workload, end).fate


def ended(end: PodEnd) -> job_controllers.PodEnd:
    return job_controllers.PodEnd(end.exit_code, is_disruption=end.is_disruption)


@given(JOB, ENDED)
@settings(max_examples=300, deadline=None)
def test_job_comes_to_the_same_fate_when_the_model_plays_it(
    job: dict[str, Any], end: PodEnd
) -> None:
    """Whatever its rules are, and however its pod ends."""
    controller = JobController(job)
    controller.pod_ended(ended(end))
    if controller.state is State.FAILED:
        expected = Fate.OVER
    else:
        expected = Fate.COUNTED if controller.counted else Fate.FREE
    assert fate_of({"kind": "Job", "spec": job}, end) is expected


@given(JOB, st.none() | SET_POLICY, ENDED)
@settings(max_examples=300, deadline=None)
def test_jobset_comes_to_the_same_fate_when_the_model_plays_it(
    job: dict[str, Any], policy: dict[str, Any] | None, end: PodEnd
) -> None:
    """Both policies one after the other; a pod that is replaced alone restarts no set."""
    spec: dict[str, Any] = {"replicatedJobs": [{"name": "workers", "template": {"spec": job}}]}
    if policy is not None:
        spec["failurePolicy"] = policy
    controller = JobSetController(spec)
    controller.pod_ended(ended(end))
    if controller.state is State.FAILED:
        expected = Fate.OVER
    else:
        counted = controller.restarts_counted or controller.job.counted
        expected = Fate.COUNTED if counted else Fate.FREE
    assert fate_of({"kind": "JobSet", "spec": spec}, end) is expected


def test_codes_are_the_launchers_when_lint_speaks_of_them() -> None:
    """Manifests are read without the launcher; the numbers are the same."""
    codes = {end.exit_code: end.fate for end in ENDS if not end.is_disruption}
    assert codes[EXIT_PREEMPTED] is Fate.FREE
    assert codes[EXIT_CONFIG] is Fate.OVER


@pytest.mark.parametrize("pattern", ["(.*)*(.|x)*!", ".*" * 10 + "!", ".?" * 40 + "!"])
def test_pattern_finds_nothing_when_it_might_search_for_ever(pattern: str) -> None:
    """RE2 would come to an end, and Python's own search need not."""
    spec = {
        "failurePolicy": {
            "maxRestarts": 1,
            "rules": [{"action": "FailJobSet", "onJobFailureMessagePatterns": [pattern, "("]}],
        },
        "replicatedJobs": [{"name": "w", "template": {"spec": {"backoffLimit": 0}}}],
    }
    assert fate_of({"kind": "JobSet", "spec": spec}, ENDS[0]) is Fate.COUNTED
