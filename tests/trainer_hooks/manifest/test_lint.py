"""Lint: our own manifests are clean, and anything at all can be read."""

from pathlib import Path

import pytest

from tests.support.manifests import WIDELY_COPIED, request
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.lint import lint
from trainer_hooks.manifest.platforms import PLATFORMS
from trainer_hooks.manifest.render import Form, render

ROOT = Path(__file__).parents[3]

JOBSET = render(Form.JOBSET, request("gke"))


@pytest.mark.parametrize("cloud", PLATFORMS)
@pytest.mark.parametrize("queue", [None, "training"])
@pytest.mark.parametrize("form", [Form.JOBSET, Form.JOB])
def test_manifest_is_clean_when_it_is_ours(cloud: str, queue: str | None, form: Form) -> None:
    """For every cloud, with a queue and without."""
    assert lint(render(form, request(cloud, queue=queue))) == []
    assert lint(render(form, request(cloud, queue=queue, nodes=1, gpus=0, window_s=10))) == []


@pytest.mark.parametrize(
    "path", [*(ROOT / "deploy" / "jobset").glob("*.yaml"), ROOT / "deploy" / "slurm" / "train.sh"]
)
def test_file_is_clean_when_it_is_shipped(path: Path) -> None:
    """What is in deploy/ is what we tell others to do."""
    assert lint(path.read_text()) == []


def test_widely_copied_manifest_has_every_usual_defect_when_it_is_judged() -> None:
    """Each on its own line."""
    found = {(finding.rule, finding.line) for finding in lint(WIDELY_COPIED)}
    lines = WIDELY_COPIED.splitlines()

    def line(part: str) -> int:
        return next(at for at, text in enumerate(lines, 1) if part in text)

    assert found == {
        ("queue-not-a-label", line("kueue")),
        ("crash-not-counted", line("- action: FailJob")),
        ("endless-restart", line("- action: FailJob")),
        ("exit-code-0", line("[0, 143]")),
        ("exit-code-143", line("[0, 143]")),
        ("restart-policy", line("terminationGrace")),
        ("grace-too-long", line("terminationGrace")),
        ("no-spot-selector", line("key: cloud.google.com")),
        ("no-gpu", line("name: trainer")),
        ("no-checkpoint-volume", line("name: trainer")),
        ("no-flag", line("name: trainer")),
        ("torchrun-exit-code", line("- torchrun")),
        ("torchrun-kills-early", line("- torchrun")),
        ("no-rendezvous-id", line("- torchrun")),
        ("literal-variable", line("$(JOBSET_NAME)")),
    }


def test_window_is_the_users_when_it_is_given() -> None:
    """A node pool with a longer shutdown, say; the platform's own figure does not hold then."""
    manifest = JOBSET.replace("Seconds: 15", "Seconds: 100")
    assert [finding.rule for finding in lint(manifest)] == ["grace-too-long"]
    assert lint(manifest, window_s=105) == []
    assert [finding.rule for finding in lint(manifest, PLATFORMS["aks"])] == ["grace-too-long"]
    assert lint(manifest, PLATFORMS["eks"]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n---\n",
        "just text",
        "[1, 2]",
        "kind: Deployment",
        "kind: Job",
        "kind: JobSet\nspec: [1]",
        "kind: JobSet\nspec: {replicatedJobs: {a: b}}",
        "kind: Job\nspec: {template: {spec: {containers: [a, [b], {command: {c: d}}]}}}",
        "kind: Job\nspec: {podFailurePolicy: {rules: [a, {onExitCodes: {values: x}}]}}",
        (
            "kind: Job\nspec: {template: {spec: {containers: [{command: [torchrun, --nnodes, "
            f"{'9' * 5000}]}}]}}}}}}"
        ),
        "kind: Job\nmetadata: []\nspec: {template: {spec: {tolerations: 1, nodeSelector: 2}}}",
    ],
)
def test_nothing_breaks_when_the_shape_is_another(text: str) -> None:
    """Whatever a file holds, lint says something or nothing."""
    assert all(isinstance(finding, Finding) for finding in lint(text))


def test_pods_are_counted_over_all_jobs_when_a_jobset_has_one_for_each_node() -> None:
    """Another way to write four nodes; then a pod's index in its job is no rank of its own."""
    manifest = JOBSET.replace("replicas: 1", "replicas: 4")
    manifest = manifest.replace("parallelism: 4", "parallelism: 1")
    assert [finding.rule for finding in lint(manifest)] == ["no-node-rank"]


@pytest.mark.parametrize("text", ["", "kind: PyTorchJob\n", "kind: Deployment\n---\na: b\n"])
def test_nothing_is_called_clean_when_it_was_not_judged(text: str) -> None:
    """Unknown is not clear."""
    [finding] = lint(text)
    assert (finding.rule, finding.weight) == ("nothing-judged", Weight.ADVICE)
    assert "PyTorchJob" not in text or "PyTorchJob" in finding.message


def test_job_in_a_list_is_judged_when_kubectl_has_printed_it() -> None:
    """kubectl get -o yaml makes a List; a CronJob has its job one level deeper."""
    listed = (
        "kind: List\nitems:\n- kind: Job\n  spec: {}\n- kind: CronJob\n  spec: {jobTemplate: {}}"
    )
    found = [one.rule for one in lint(listed)]
    assert found.count("no-pod-failure-policy") == 2


def test_advice_is_told_from_errors_when_it_can_be_meant() -> None:
    """A job without the flag still hears SIGTERM."""
    [finding] = lint(JOBSET.replace("mountPath: /run/reprieve", "mountPath: /run/other"))
    assert (finding.rule, finding.weight) == ("no-flag", Weight.ADVICE)


def test_pod_without_the_run_directory_is_clean_when_it_asks_over_http_and_is_annotated() -> None:
    """It can't say how it is: without the annotation it may be evicted before it has saved."""
    manifest = JOBSET.replace("mountPath: /run/reprieve", "mountPath: /run/other")
    manifest = manifest.replace("name: REPRIEVE_POD_UID", "name: REPRIEVE_NOTICE_URL")
    [finding] = lint(manifest)
    assert (finding.rule, finding.weight) == ("no-status", Weight.ADVICE)
    annotated = 'annotations:\n                reprieve.dev/trainer: "true"'
    assert lint(manifest.replace("annotations:", annotated)) == []
