"""What becomes of a job at each end that its pods can come to."""

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency

from tests.support.job_controllers import JobController, JobSetController, PodEnd, State
from tests.support.manifests import WIDELY_COPIED, one, rendered, request
from trainer_hooks.manifest.render import Form

BUG = PodEnd(1)
OUT_OF_MEMORY = PodEnd(137)
PREEMPTED = PodEnd(75)
DRAINED = PodEnd(75, is_disruption=True)
KILLED_AT_GRACE_END = PodEnd(137, is_disruption=True)
NO_HANDLER = PodEnd(143, is_disruption=True)
VANISHED = PodEnd(None, is_disruption=True)
PEER_LOST = PodEnd(76)
WRONG_SETUP = PodEnd(78)
NO_PROGRESS = PodEnd(79)
BARE_SIGTERM = PodEnd(143)
DONE = PodEnd(0)

DISRUPTIONS = [
    *(PREEMPTED, DRAINED, KILLED_AT_GRACE_END, NO_HANDLER, VANISHED, PEER_LOST),
    *(PodEnd(code, is_disruption=True) for code in (1, 78, 79)),
]
CRASHES = [BUG, OUT_OF_MEMORY, BARE_SIGTERM]
FINAL = [WRONG_SETUP, NO_PROGRESS]


def our_jobset() -> JobSetController:
    return JobSetController(one("JobSet", rendered(Form.JOBSET, request()))["spec"])


def our_job() -> JobController:
    return JobController(one("Job", rendered(Form.JOB, request()))["spec"])


@pytest.mark.parametrize("end", DISRUPTIONS)
def test_jobset_restarts_for_ever_when_its_pods_are_taken(end: PodEnd) -> None:
    """A hundred preemptions in a row spend none of the five restarts."""
    jobset = our_jobset()
    for _ in range(100):
        jobset.pod_ended(end)
    assert (jobset.state, jobset.restarts, jobset.restarts_counted) == (State.RUNNING, 100, 0)


@pytest.mark.parametrize("end", CRASHES)
def test_jobset_gives_up_when_crashes_have_spent_its_restarts(end: PodEnd) -> None:
    """Five restarts, also with preemptions between them."""
    jobset = our_jobset()
    for _ in range(5):
        jobset.pod_ended(end)
        jobset.pod_ended(PREEMPTED)
    assert (jobset.state, jobset.restarts_counted) == (State.RUNNING, 5)
    jobset.pod_ended(end)
    assert jobset.state is State.FAILED


@pytest.mark.parametrize("end", FINAL)
def test_jobset_fails_at_once_when_a_restart_would_help_nothing(end: PodEnd) -> None:
    """A wrong set-up, or crash after crash without a checkpoint: somebody has to look."""
    jobset = our_jobset()
    jobset.pod_ended(end)
    assert (jobset.state, jobset.restarts) == (State.FAILED, 0)


def test_jobset_counts_a_crash_when_its_peers_follow_with_76() -> None:
    """The first pod that ends decides."""
    jobset = our_jobset()
    jobset.pod_ended(BUG, PEER_LOST, PEER_LOST, PEER_LOST)
    assert (jobset.restarts, jobset.restarts_counted) == (1, 1)


def test_jobset_succeeds_when_all_its_pods_are_done() -> None:
    """And not before."""
    jobset = our_jobset()
    states = list[State]()
    for _ in range(4):
        jobset.pod_ended(DONE)
        states.append(jobset.state)
    assert states == [State.RUNNING] * 3 + [State.SUCCEEDED]


@pytest.mark.parametrize("end", DISRUPTIONS)
def test_job_replaces_its_pods_for_ever_when_they_are_taken(end: PodEnd) -> None:
    """None of it counts against the limit."""
    job = our_job()
    for _ in range(100):
        job.pod_ended(end)
    assert (job.state, job.replaced, job.counted) == (State.RUNNING, 100, 0)


@pytest.mark.parametrize("end", CRASHES)
def test_job_gives_up_when_crashes_have_passed_its_limit(end: PodEnd) -> None:
    """One crash counts once: the pods that end with 76 because of it do not."""
    job = our_job()
    for _ in range(5):
        job.pod_ended(end)
        for _ in range(3):
            job.pod_ended(PEER_LOST)
    assert (job.state, job.counted) == (State.RUNNING, 5)
    job.pod_ended(end)
    assert (job.state, job.reason) == (State.FAILED, "BackoffLimitExceeded")


@pytest.mark.parametrize("end", FINAL)
def test_job_fails_at_once_when_a_restart_would_help_nothing(end: PodEnd) -> None:
    """As a JobSet does."""
    job = our_job()
    job.pod_ended(end)
    assert (job.state, job.reason) == (State.FAILED, "PodFailurePolicy")


@pytest.mark.parametrize(
    ("what", "end", "restarts", "counted"),
    [
        ("a bug restarts for ever", BUG, 1, 0),
        ("and so does a job that needs too much memory", OUT_OF_MEMORY, 1, 0),
        ("a preemption under torchrun is right by accident", PodEnd(1, is_disruption=True), 1, 0),
        ("a script's own SIGTERM spends a restart", BARE_SIGTERM, 1, 1),
        ("exit 0 at a preemption leaves a set that waits for ever", DONE, 0, 0),
        ("a node that vanished is right", VANISHED, 1, 0),
        ("survivors are right as long as everything is free", PodEnd(1), 1, 0),
        ("a node taken without a condition depends on the code", PodEnd(137), 1, 0),
    ],
)
def test_widely_copied_policy_misjudges_when_pods_end(
    what: str, end: PodEnd, restarts: int, counted: int
) -> None:
    """What ours is better than, and that the model of the controllers knows it."""
    jobset = JobSetController(yaml.safe_load(WIDELY_COPIED)["spec"])
    jobset.pod_ended(end)
    assert (jobset.restarts, jobset.restarts_counted) == (restarts, counted), what
    assert jobset.state is State.RUNNING
