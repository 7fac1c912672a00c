"""The trainer's kustomize components make of an ordinary job one that hears its node's notices."""

from operator import itemgetter
from pathlib import Path
from typing import cast

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency

from tests.support.kustomized import DAEMONSET, DEPLOY, Manifest, check, composed, named
from tests.support.manifests import Documents, pod_of, rendered, request
from trainer_hooks.manifest.lint import lint
from trainer_hooks.manifest.platforms import PLATFORMS
from trainer_hooks.manifest.render import Form
from trainer_hooks.status import POD_UID_VARIABLE
from watcher.kube.keys import TRAINER
from watcher.settings import load

PARTS = DEPLOY / "trainer"
CLOUDS = ("eks", "gke", "aks")
FORMS = (Form.JOB, Form.JOBSET)

EVICTION = {
    "karpenter.sh/do-not-disrupt": "true",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}


def template_of(job: Manifest) -> Manifest:
    """Return the pod template of a Job or JobSet."""
    spec = job["spec"]
    if job["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    return cast("Manifest", spec["template"])


def bare(form: Form, cloud: str) -> Documents:
    """Return a job as people have it: nothing in it is ours, and it has a label of its own."""
    documents = rendered(form, request(cloud))
    template = template_of(documents[-1])
    template["metadata"] = {"labels": {"team": "nlp"}}
    pod = template["spec"]
    del pod["terminationGracePeriodSeconds"]
    (trainer,) = pod["containers"]
    for place in (trainer["volumeMounts"], pod["volumes"]):
        place[:] = [one for one in place if not one["name"].startswith("reprieve")]
    trainer["env"] = [{"name": "SEED", "value": "1"}]
    return documents


def patched(directory: Path, documents: Documents, *parts: str) -> Documents:
    """Return the documents with these components."""
    manifest = directory / "manifest"
    manifest.mkdir()
    (manifest / "job.yaml").write_text(yaml.safe_dump_all(documents))
    (manifest / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    objects = composed(directory / "top", [manifest], [PARTS / part for part in parts])
    for one in objects:
        check(one)
    return objects


def job_of(documents: Documents) -> Manifest:
    """Return the Job or JobSet."""
    (job,) = [one for one in documents if one["kind"] in ("Job", "JobSet")]
    return job


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("form", FORMS)
def test_job_is_as_we_print_it_when_mounts_and_cloud_are_added(
    form: Form, cloud: str, tmp_path: Path
) -> None:
    """Directory mounts, downward API, grace and annotations; and lint has nothing to say.

    What was the job's own is still there.
    """
    documents = patched(tmp_path, bare(form, cloud), "mounts", cloud)
    assert lint(yaml.safe_dump_all(documents)) == []
    ours = template_of(rendered(form, request(cloud))[-1])
    template = template_of(job_of(documents))
    assert template["metadata"] == {"labels": {"team": "nlp"}, "annotations": EVICTION}
    pod, printed = template["spec"], ours["spec"]
    (trainer,), (printed_trainer,) = pod.pop("containers"), printed.pop("containers")
    trainer.pop("env")
    for place, other in (
        (trainer.pop("volumeMounts"), printed_trainer.pop("volumeMounts")),
        (pod.pop("volumes"), printed.pop("volumes")),
    ):
        assert sorted(place, key=itemgetter("name")) == sorted(other, key=itemgetter("name"))
    printed_trainer.pop("env")
    assert pod["terminationGracePeriodSeconds"] == PLATFORMS[cloud].grace_s
    assert (trainer, pod) == (printed_trainer, printed)
    assert ours["metadata"]["annotations"] == EVICTION


@pytest.mark.parametrize("form", FORMS)
def test_trainer_says_how_it_is_when_mounts_are_added(form: Form, tmp_path: Path) -> None:
    """The pod's uid by the downward API, and a directory to write to; never a subPath."""
    documents = patched(tmp_path, bare(form, "eks"), "mounts")
    pod = pod_of(job_of(documents))
    (trainer,) = pod["containers"]
    variables = {one["name"]: one for one in trainer["env"]}
    assert variables[POD_UID_VARIABLE]["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.uid"}}
    assert variables["SEED"] == {"name": "SEED", "value": "1"}
    mounts = {one["mountPath"]: one for one in trainer["volumeMounts"]}
    assert mounts["/run/reprieve"]["readOnly"] is True
    assert "readOnly" not in mounts["/run/reprieve/trainers"]
    assert not any("subPath" in one for one in mounts.values())
    paths = {one["name"]: one.get("hostPath") for one in pod["volumes"]}
    for path in ("/run/reprieve", "/run/reprieve/trainers"):
        assert paths[mounts[path]["name"]] == {"path": path, "type": "Directory"}


@pytest.mark.parametrize("form", FORMS)
def test_pod_needs_no_host_directory_when_it_asks_by_url(form: Form, tmp_path: Path) -> None:
    """It asks the port that the watcher's component opens, on the node's own address."""
    documents = patched(tmp_path, bare(form, "gke"), "notice-url", "gke")
    template = template_of(job_of(documents))
    (trainer,) = template["spec"]["containers"]
    names = [one["name"] for one in trainer["env"]]
    assert names.index("NODE_ADDRESS") < names.index("REPRIEVE_NOTICE_URL")
    variables = {one["name"]: one for one in trainer["env"]}
    assert variables["NODE_ADDRESS"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.hostIP"}}
    assert not [one for one in template["spec"]["volumes"] if "hostPath" in one]
    assert template["metadata"]["annotations"] == EVICTION | {TRAINER: "true"}
    assert lint(yaml.safe_dump_all(documents)) == []

    served = composed(tmp_path / "node", [DAEMONSET], [DAEMONSET / "components" / "notice"])
    (watcher,) = named(served, "DaemonSet")["spec"]["template"]["spec"]["containers"]
    environment = {one["name"]: one.get("value", "") for one in watcher["env"]}
    names = list(environment)
    assert names.index("NODE_ADDRESS") < names.index("REPRIEVE_FACES_NOTICE_LISTEN")
    said = environment["REPRIEVE_FACES_NOTICE_LISTEN"].replace("$(NODE_ADDRESS)", "10.0.0.7")
    listen = load(None, {"REPRIEVE_FACES_NOTICE_LISTEN": said}, {}).config.faces.notice_listen
    asked = variables["REPRIEVE_NOTICE_URL"]["value"].replace("$(NODE_ADDRESS)", "10.0.0.7")
    assert asked == f"http://{listen}"


@pytest.mark.parametrize("form", FORMS)
def test_budget_holds_every_trainer_when_it_is_added(form: Form, tmp_path: Path) -> None:
    """Its selector is the label that the pods get, beside the labels that they have."""
    documents = patched(tmp_path, bare(form, "eks"), "hold")
    budget = named(documents, "PodDisruptionBudget")["spec"]
    labels = template_of(job_of(documents))["metadata"]["labels"]
    assert labels == {"team": "nlp"} | budget["selector"]["matchLabels"]
    assert budget["minAvailable"] > 10_000
    assert job_of(documents)["metadata"].get("labels") is None


def test_every_part_is_named_when_the_readme_is_read() -> None:
    """A folder that it does not explain would be found by nobody."""
    text = (PARTS / "README.md").read_text()
    for part in PARTS.iterdir():
        if part.is_dir():
            assert f"`{part.name}`" in text
