"""The Kubernetes manifests say what the daemon needs, in words that it understands."""

from pathlib import Path
from typing import Any, cast

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency for one test

from watcher.cli import _parser
from watcher.settings import load

BASE = Path(__file__).parents[2] / "deploy" / "daemonset" / "base"

Manifest = dict[str, Any]


def manifest(name: str) -> Manifest:
    return cast("Manifest", yaml.safe_load((BASE / name).read_text()))


@pytest.fixture
def pod() -> Manifest:
    return cast("Manifest", manifest("daemonset.yaml")["spec"]["template"]["spec"])


@pytest.fixture
def watcher(pod: Manifest) -> Manifest:
    [container] = pod["containers"]
    return cast("Manifest", container)


def test_base_lists_every_manifest_when_rendered() -> None:
    """A file that kustomization.yaml does not name would never be applied."""
    kustomization = manifest("kustomization.yaml")
    generated = [file for one in kustomization["configMapGenerator"] for file in one["files"]]
    named = {"kustomization.yaml", *kustomization["resources"], *generated}
    assert named == {path.name for path in BASE.iterdir() if path.suffix in (".yaml", ".toml")}
    namespace = manifest("namespace.yaml")["metadata"]["name"]
    assert kustomization["configMapGenerator"][0]["namespace"] == namespace
    for name in ("serviceaccount.yaml", "daemonset.yaml"):
        assert manifest(name)["metadata"]["namespace"] == namespace


def test_references_meet_when_names_are_compared(pod: Manifest) -> None:
    """Selector, labels, account, ConfigMap and image are each named twice, and alike."""
    daemonset, kustomization = manifest("daemonset.yaml"), manifest("kustomization.yaml")
    labels = daemonset["spec"]["template"]["metadata"]["labels"]
    assert daemonset["spec"]["selector"]["matchLabels"] == labels
    assert pod["serviceAccountName"] == manifest("serviceaccount.yaml")["metadata"]["name"]
    [config] = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
    assert config == kustomization["configMapGenerator"][0]["name"]
    images = {one["image"] for one in (*pod["containers"], *pod["initContainers"])}
    assert images == {kustomization["images"][0]["name"]}


def test_run_directory_is_a_directory_mount_when_shared(pod: Manifest) -> None:
    """A subPath or a file mount would never see the rename that publishes a notice."""
    [volume] = [volume for volume in pod["volumes"] if "hostPath" in volume]
    assert volume["hostPath"] == {"path": "/run/reprieve", "type": "DirectoryOrCreate"}
    for container in (*pod["containers"], *pod["initContainers"]):
        [mount] = [one for one in container["volumeMounts"] if one["name"] == volume["name"]]
        assert mount == {"name": volume["name"], "mountPath": "/run/reprieve"}


def test_pod_reaches_the_metadata_service_when_its_hop_limit_is_1(pod: Manifest) -> None:
    """On the host's network, on every node, tainted ones first."""
    assert pod["hostNetwork"] is True
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "system-node-critical"


def test_daemon_has_no_privilege_when_running(pod: Manifest, watcher: Manifest) -> None:
    """Not root, no capability, no writable root; seccomp for the whole pod."""
    assert watcher["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert pod["automountServiceAccountToken"] is True
    assert manifest("serviceaccount.yaml")["automountServiceAccountToken"] is False
    assert not {"hostPID", "hostIPC"} & pod.keys()


def test_run_directory_belongs_to_the_daemon_when_it_starts(
    pod: Manifest, watcher: Manifest
) -> None:
    """The init container gives it to the very user that the daemon runs as."""
    [init] = pod["initContainers"]
    [script] = init["args"]
    installs = [line for line in script.splitlines() if line]
    assert len(installs) == 2
    assert all('-o "$OWNER" -g "$OWNER"' in line for line in installs)
    user = watcher["securityContext"]["runAsUser"]
    assert init["env"] == [{"name": "OWNER", "value": str(user)}]
    assert init["securityContext"]["capabilities"]["drop"] == ["ALL"]


def test_memory_is_bounded_and_cpu_is_not_when_the_node_is_busy(watcher: Manifest) -> None:
    """A throttled daemon is late."""
    resources = watcher["resources"]
    assert resources["requests"].keys() == {"cpu", "memory"}
    assert resources["limits"] == {"memory": resources["requests"]["memory"]}


def test_probes_ask_where_the_daemon_listens(watcher: Manifest) -> None:
    """Host and port of the probes are the address in watcher.toml, and never the network's."""
    listen = load(BASE / "watcher.toml", {}, {}).config.faces.listen
    [port] = watcher["ports"]
    assert port == {"name": "http", "containerPort": listen.port, "hostPort": listen.port}
    paths = {}
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        probe = watcher[name]["httpGet"]
        assert (probe["host"], probe["port"]) == (listen.host, "http")
        paths[name] = probe["path"]
    assert paths == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }


def test_config_is_accepted_and_found_when_mounted(pod: Manifest, watcher: Manifest) -> None:
    """The flag names the file that the ConfigMap brings, and the daemon writes where pods mount."""
    [mount] = [one for one in watcher["volumeMounts"] if one["name"] == "config"]
    assert f"--config={mount['mountPath']}/watcher.toml" in watcher["args"]
    run_dir = load(BASE / "watcher.toml", {}, {}).config.run_dir
    [shared] = [volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume]
    assert str(run_dir) == shared


def test_arguments_are_the_daemons_when_parsed(watcher: Manifest) -> None:
    """Every argument is one of `reprieve-watcher run`, and every variable in them is defined."""
    arguments = _parser().parse_args(watcher["args"])
    assert arguments.command == "run"
    assert [f"$({one['name']})" for one in watcher["env"]] == [arguments.node]
