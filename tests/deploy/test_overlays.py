"""Overlays: they render, are valid, and say what their cloud needs."""

from pathlib import Path

import pytest

from tests.support.kustomized import (
    BASE,
    DAEMONSET,
    OVERLAYS,
    check,
    environment_of,
    named,
    pod_of,
    rendered,
    watcher_of,
)
from watcher.cli import _parser
from watcher.settings import load, strangers


@pytest.mark.parametrize("overlay", [DAEMONSET, *OVERLAYS], ids=lambda path: path.name)
def test_overlay_is_valid_when_it_is_rendered(overlay: Path) -> None:
    """Every object, with no field that the API server would not know."""
    objects, base = rendered(overlay), rendered(BASE)
    for one in objects:
        if overlay == DAEMONSET or one not in base:
            check(one)
    names = [(one["kind"], one["metadata"]["name"]) for one in objects]
    assert len(names) == len(set(names))


def test_plain_kustomization_is_the_base_when_it_is_applied() -> None:
    """`kubectl apply -k deploy/daemonset` needs nothing else."""
    assert rendered(DAEMONSET) == rendered(BASE)


@pytest.mark.parametrize(("overlay", "cloud"), [("eks", "aws"), ("gke", "gcp"), ("aks", "azure")])
def test_overlay_names_its_cloud_when_the_daemon_reads_its_settings(
    overlay: str, cloud: str
) -> None:
    """In words that the daemon understands, over those of the file."""
    environment = environment_of(watcher_of(rendered(DAEMONSET / "overlays" / overlay)))
    assert load(BASE / "watcher.toml", environment, {}).config.cloud == cloud


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_pods_have_the_hosts_network_only_where_metadata_needs_it(overlay: Path) -> None:
    """The daemons, for the metadata service; never the relay."""
    objects = rendered(overlay)
    assert pod_of(objects)["hostNetwork"] is True
    for one in objects:
        if one["kind"] == "Deployment":
            assert "hostNetwork" not in one["spec"]["template"]["spec"]


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_memory_is_what_is_asked_for_when_a_node_is_full(overlay: Path) -> None:
    """Request and limit of every container are one number, and none is throttled."""
    for one in rendered(overlay):
        if one["kind"] in ("DaemonSet", "Deployment"):
            pod = one["spec"]["template"]["spec"]
            for container in (*pod["containers"], *pod.get("initContainers", [])):
                resources = container["resources"]
                assert resources["limits"] == {"memory": resources["requests"]["memory"]}


def test_namespace_may_have_critical_pods_when_gke_asks_for_a_quota() -> None:
    """For both priority classes that are used here."""
    objects = rendered(DAEMONSET / "overlays" / "gke-relay")
    (scope,) = named(objects, "ResourceQuota")["spec"]["scopeSelector"]["matchExpressions"]
    used = {
        one["spec"]["template"]["spec"]["priorityClassName"]
        for one in objects
        if one["kind"] in ("DaemonSet", "Deployment")
    }
    assert set(scope["values"]) == used


@pytest.mark.parametrize("overlay", [DAEMONSET, *OVERLAYS], ids=lambda path: path.name)
def test_variables_are_settings_when_a_manifest_has_them(overlay: Path) -> None:
    """None with our prefix sets nothing."""
    for one in rendered(overlay):
        if one["kind"] in ("DaemonSet", "Deployment"):
            for container in one["spec"]["template"]["spec"]["containers"]:
                assert strangers(environment_of(container)) == []


def test_relays_read_one_queue_and_share_no_node() -> None:
    """Two, in the words of `reprieve-watcher relay`, on two nodes; one may go at a time."""
    for overlay in ("eks-relay", "gke-relay"):
        objects = rendered(DAEMONSET / "overlays" / overlay)
        deployment = named(objects, "Deployment")["spec"]
        pod = deployment["template"]["spec"]
        (relay,) = pod["containers"]
        labels = deployment["template"]["metadata"]["labels"]
        assert deployment["replicas"] == 2
        (apart,) = pod["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert apart["topologyKey"] == "kubernetes.io/hostname"
        for selector in (
            apart["labelSelector"],
            deployment["selector"],
            named(objects, "PodDisruptionBudget")["spec"]["selector"],
            named(objects, "NetworkPolicy")["spec"]["podSelector"],
        ):
            assert selector == {"matchLabels": labels}
        arguments = vars(_parser().parse_args(relay["args"]))
        assert arguments["command"] == "relay"
        assert arguments["relay.handler"] == "kubernetes"
        listen = load(None, {}, {"faces.listen": arguments["faces.listen"]}).config.faces.listen
        (port,) = relay["ports"]
        assert (listen.host, listen.port) == ("0.0.0.0", port["containerPort"])  # noqa: S104 - as the kubelet asks the pod's address
        (source,) = relay["envFrom"]
        queue = named(objects, "ConfigMap", source["configMapRef"]["name"])["data"]
        config = load(None, queue, {}).config.relay
        assert (config.queue_url is None) != (config.subscription is None)
        assert strangers(queue) == []
