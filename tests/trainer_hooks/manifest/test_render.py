"""Rendered manifests: what the request says, in the cloud's own words."""

import re
from typing import Any

import pytest

from tests.support.manifests import Documents, one, pod_of, rendered, request
from trainer_hooks.errors import ConfigError
from trainer_hooks.manifest.platforms import PLATFORMS
from trainer_hooks.manifest.render import Form, render

KINDS = [(Form.JOBSET, "JobSet"), (Form.JOB, "Job")]

KUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def command(documents: Documents, kind: str) -> list[str]:
    [container] = pod_of(one(kind, documents))["containers"]
    words: list[str] = container["command"]
    return words


@pytest.mark.parametrize(("form", "kind"), KINDS)
@pytest.mark.parametrize(
    ("cloud", "grace_s", "selector", "taint"),
    [
        ("eks", 115, {"eks.amazonaws.com/capacityType": "SPOT"}, None),
        ("karpenter", 115, {"karpenter.sh/capacity-type": "spot"}, None),
        ("gke", 15, {"cloud.google.com/gke-spot": "true"}, "cloud.google.com/gke-spot"),
        (
            "aks",
            25,
            {"kubernetes.azure.com/scalesetpriority": "spot"},
            "kubernetes.azure.com/scalesetpriority",
        ),
        ("other", 30, None, None),
    ],
)
def test_pod_is_the_clouds_when_rendered(  # noqa: PLR0913 - a row of a table
    *, form: Form, kind: str, cloud: str, grace_s: int, selector: object, taint: str | None
) -> None:
    """Spot nodes by their label, their taint tolerated, and no longer a grace than a node has."""
    documents = rendered(form, request(cloud))
    pod = pod_of(one(kind, documents))
    assert pod["terminationGracePeriodSeconds"] == grace_s <= PLATFORMS[cloud].window_s
    assert pod.get("nodeSelector") == selector
    assert [one["key"] for one in pod.get("tolerations", [])] == ([taint] if taint else [])
    assert f"--window={grace_s}" in command(documents, kind)
    assert pod["restartPolicy"] == "Never"


@pytest.mark.parametrize(("form", "kind"), KINDS)
def test_queue_is_a_label_when_it_is_asked_for(form: Form, kind: str) -> None:
    """Kueue reads labels only; and a selector in the pod would bar it from on-demand nodes."""
    document = one(kind, rendered(form, request("gke", queue="training")))
    assert document["metadata"]["labels"] == {KUEUE_LABEL: "training"}
    assert not {"nodeSelector", "tolerations"} & set(pod_of(document))


@pytest.mark.parametrize(
    ("form", "kind", "host"),
    [(*KINDS[0], "run-7-workers-0-0.run-7"), (*KINDS[1], "run-7-0.run-7")],
)
def test_ranks_meet_at_the_first_pod_when_there_are_several_nodes(
    form: Form, kind: str, host: str
) -> None:
    """By the name that the headless service gives it; each pod's rank is its index."""
    assert command(rendered(form, request()), kind) == [
        "reprieve-trainer",
        "launch",
        "--window=115",
        "--report=/dev/termination-log",
        "--nnodes=4",
        "--node-rank=$(JOB_COMPLETION_INDEX)",
        f"--master-addr={host}",
        "--master-port=29500",
        "--nproc-per-node=8",
        "train.py",
        "--checkpoint-dir",
        "/checkpoints/run-7",
    ]


def test_headless_service_selects_the_jobs_pods_when_there_is_no_jobset() -> None:
    """Before they are ready, or nobody would find the first one."""
    documents = rendered(Form.JOB, request())
    service = one("Service", documents)
    job = one("Job", documents)
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
    assert pod_of(job)["subdomain"] == service["metadata"]["name"]


def test_one_node_needs_no_rendezvous_when_it_is_alone() -> None:
    """Nor a GPU, if it is asked for none."""
    documents = rendered(Form.JOB, request("other", nodes=1, gpus=0, window_s=60))
    words = command(documents, "Job")
    assert words[2:5] == ["--window=60", "--report=/dev/termination-log", "--nproc-per-node=1"]
    [container] = pod_of(one("Job", documents))["containers"]
    assert "resources" not in container


@pytest.mark.parametrize(
    "word",
    [
        "$(HOME)",
        "$$",
        "$",
        "a$$$(b)",
        "a b",
        'say "hi"',
        "it's",
        "yes",
        "0x1f",
        "- x",
        "#no",
        "{a: b}",
        "äöü",
        "\U0001f600",
        ": ",
    ],
)
def test_word_arrives_as_it_is_when_the_script_takes_it(word: str) -> None:
    """YAML and Kubernetes both have ideas of their own about some."""
    words = command(rendered(Form.JOBSET, request(script=("train.py", word))), "JobSet")
    assert not re.sub(r"\$\$", "", words[-1]).count("$")
    assert words[-1].replace("$$", "$") == word


def test_cluster_prefers_spot_when_its_flavours_are_read_in_order() -> None:
    """On-demand nodes come second, and each flavour says which nodes are its."""
    documents = rendered(Form.CLUSTER, request("karpenter", queue="queue-7"))
    [group] = one("ClusterQueue", documents)["spec"]["resourceGroups"]
    assert [flavour["name"] for flavour in group["flavors"]] == ["spot", "on-demand"]
    labels = {
        one["metadata"]["name"]: one["spec"]["nodeLabels"]
        for one in documents
        if one["kind"] == "ResourceFlavor"
    }
    assert labels == {
        "spot": {"karpenter.sh/capacity-type": "spot"},
        "on-demand": {"karpenter.sh/capacity-type": "on-demand"},
    }
    queue = one("LocalQueue", documents)
    assert queue["metadata"]["name"] == "queue-7"
    assert queue["spec"]["clusterQueue"] == one("ClusterQueue", documents)["metadata"]["name"]


def test_spare_node_makes_room_when_a_job_needs_it() -> None:
    """A pod below every job's priority, as large as a job's, that drives nobody out itself."""
    documents = rendered(Form.CLUSTER, request("gke"))
    priority = one("PriorityClass", documents)
    assert priority["value"] < 0
    assert priority["preemptionPolicy"] == "Never"
    pod = pod_of(one("Deployment", documents))
    assert pod["priorityClassName"] == priority["metadata"]["name"]
    assert pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": 8}}
    assert pod["nodeSelector"] == {"cloud.google.com/gke-spot": "true"}


def test_image_is_pulled_in_advance_when_a_spot_node_comes_up() -> None:
    """By a pod on each of them that does nothing else."""
    pod = pod_of(one("DaemonSet", rendered(Form.CLUSTER, request("gke"))))
    [pulled] = pod["initContainers"]
    assert (pulled["image"], pulled["command"]) == ("ghcr.io/me/train:1", ["true"])
    assert pod["nodeSelector"] == {"cloud.google.com/gke-spot": "true"}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"name": "Run_7"}, "name 'Run_7'"),
        ({"name": "a" * 41}, "at most 40"),
        ({"name": "run\n7"}, "name"),
        ({"image": "me/train 1"}, "image"),
        ({"image": '"\nprivileged: true'}, "image"),
        ({"namespace": "a/b"}, "namespace"),
        ({"queue": "a b"}, "queue"),
        ({"claim": ""}, "claim"),
        ({"mount": "checkpoints"}, "mount"),
        ({"gpu_resource": "gpu"}, "GPU resource"),
        ({"nodes": 0}, "nodes are"),
        ({"gpus": -1}, "nodes are"),
        ({"max_crashes": -1}, "nodes are"),
        ({"window_s": 5}, "a window is"),
        ({"window_s": 90_000}, "a window is"),
        ({"script": ()}, "which script"),
        ({"script": ("train.py", "a\nb")}, "printable"),
    ],
)
def test_request_is_refused_when_it_makes_no_sense(changes: dict[str, Any], what: str) -> None:
    """Before a template takes it: nothing gets into a manifest that is not a value."""
    with pytest.raises(ConfigError, match=what):
        request(**changes)


@pytest.mark.parametrize("asked", [request("other"), request("eks", gpus=0)])
def test_cluster_is_refused_when_nothing_is_known_of_its_spot_nodes(asked: Any) -> None:  # noqa: ANN401
    """Two flavours that mean the same nodes would prefer nothing."""
    with pytest.raises(ConfigError, match="cluster needs"):
        render(Form.CLUSTER, asked)
