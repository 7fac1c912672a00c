"""Components on the base: each is valid, and changes what it says and nothing else."""

import os
import subprocess
from pathlib import Path
from typing import cast

import pytest

from tests.support.kustomized import (
    BASE,
    COMPONENTS,
    DAEMONSET,
    OVERLAYS,
    Manifest,
    check,
    composed,
    environment_of,
    named,
    pod_of,
    rendered,
    watcher_of,
)
from watcher.settings import load


def with_components(directory: Path, *names: str) -> list[Manifest]:
    """Return the base with these components."""
    return composed(directory, [BASE], [DAEMONSET / "components" / name for name in names])


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda path: path.name)
def test_component_is_valid_when_it_is_rendered(component: Path, tmp_path: Path) -> None:
    """Each by itself, on the base."""
    base = rendered(BASE)
    changed = [one for one in composed(tmp_path, [BASE], [component]) if one not in base]
    assert changed
    for one in changed:
        check(one)


def test_components_are_valid_when_all_are_rendered_together(tmp_path: Path) -> None:
    """None takes another's changes back."""
    objects = composed(
        tmp_path,
        [DAEMONSET / "overlays" / "eks-relay"],
        [path for path in COMPONENTS if path.name not in ("relay", "tmpfs", "ask-gke")],
    )
    for one in objects:
        check(one)
    watcher = watcher_of(objects)
    assert watcher["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["KILL"]}
    names = [one["name"] for one in watcher["env"]]
    assert len(names) == len(set(names)) == 9


def test_signal_component_can_signal_and_nothing_more(tmp_path: Path) -> None:
    """Root in the host's pid namespace, and of its capabilities CAP_KILL alone."""
    objects = with_components(tmp_path, "signal")
    pod, watcher = pod_of(objects), watcher_of(objects)
    assert pod["hostPID"] is True
    context = watcher["securityContext"]
    assert context["runAsUser"] == 0
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["KILL"]}
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    pid_file = load(None, environment_of(watcher), {}).config.signal.pid_file
    mounts = {one["mountPath"]: one for one in watcher["volumeMounts"]}
    assert pid_file is not None
    assert mounts[str(pid_file.parent)]["readOnly"] is True


def test_logind_component_turns_the_source_on(tmp_path: Path) -> None:
    """As root, with the directory of the bus's socket and no capability."""
    objects = with_components(tmp_path, "logind")
    watcher = watcher_of(objects)
    effective = load(BASE / "watcher.toml", environment_of(watcher), {})
    assert effective.value("logind.watch") == "on"
    socket = str(effective.value("logind.bus_address")).removeprefix("unix:path=")
    assert str(Path(socket).parent) in {one["mountPath"] for one in watcher["volumeMounts"]}
    assert watcher["securityContext"]["runAsUser"] == 0
    assert watcher["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("name", ["signal", "logind"])
def test_run_directory_is_the_daemons_when_a_component_makes_it_root(
    name: str, tmp_path: Path
) -> None:
    """Root without its capabilities writes in no directory of somebody else's."""
    objects = with_components(tmp_path, name)
    (init,) = pod_of(objects)["initContainers"]
    owner = environment_of(init)["OWNER"]
    assert int(owner) == watcher_of(objects)["securityContext"]["runAsUser"] == 0


@pytest.mark.parametrize("name", ["hyperpod", "gke"])
def test_ask_component_asks_and_takes_out_the_policy_that_forbids_it(
    name: str, tmp_path: Path
) -> None:
    """The two go together; the other policies and the rights stay as they are."""
    objects = with_components(tmp_path, f"ask-{name}")
    effective = load(BASE / "watcher.toml", environment_of(watcher_of(objects)), {})
    assert effective.value("kubernetes.replacement") == name
    gone = [one["metadata"]["name"] for one in rendered(BASE) if one not in objects]
    assert sorted(gone) == ["reprieve-watcher", *["reprieve-watcher-asks-nobody"] * 2]


def test_podmonitor_finds_the_port_that_the_daemon_opens(tmp_path: Path) -> None:
    """On every address, loopback for the probes among them, and under the port's name."""
    objects = with_components(tmp_path, "podmonitor")
    watcher = watcher_of(objects)
    listen = load(BASE / "watcher.toml", environment_of(watcher), {}).config.faces.listen
    assert listen.host == "0.0.0.0"  # noqa: S104 - what the component is for
    (endpoint,) = named(objects, "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert {one["name"]: one["containerPort"] for one in watcher["ports"]}[
        endpoint["port"]
    ] == listen.port
    (expression,) = named(objects, "PodMonitor")["spec"]["selector"]["matchExpressions"]
    labels = named(objects, "DaemonSet")["spec"]["template"]["metadata"]["labels"]
    assert labels[expression["key"]] in expression["values"]


def test_images_follow_the_users_registry_when_it_is_changed_once(tmp_path: Path) -> None:
    """An `images` entry on top reaches every container, those of components too."""
    base, top = tmp_path / "base", tmp_path / "top"
    composed(base, [DAEMONSET / "overlays" / "eks"], [])
    top.mkdir()
    (top / "kustomization.yaml").write_text(
        "resources: [../base]\nimages: [{name: reprieve-watcher, newName: ghcr.io/me/watcher}]\n"
    )
    pod = pod_of(rendered(top))
    images = {one["image"] for one in (*pod["containers"], *pod["initContainers"])}
    assert images == {"ghcr.io/me/watcher:0.1.0"}
    assert len(pod["initContainers"]) == 2


def _script(name: str) -> str:
    objects = rendered(DAEMONSET / "overlays" / "eks")
    (init,) = [one for one in pod_of(objects)["initContainers"] if one["name"] == name]
    (script,) = init["args"]
    return cast("str", script)


@pytest.mark.e2e
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_trainers_get_a_small_disk_of_their_own_when_the_pod_starts() -> None:
    """Mounted once, seen by the node as well, and full before the node's /run is."""
    inner = _script("run-directory") + _script("small-tmpfs")
    script = """\
set -euo pipefail
mount -t tmpfs tmpfs /run
mount --make-shared /run
# A container's mount namespace, whose mounts on the directory reach the node's (Bidirectional).
container() { unshare --mount --propagation unchanged /bin/sh -euc "$INNER"; }
container
stat --format '%u %a' /run/reprieve /run/reprieve/trainers /run/reprieve/requests
echo kept > /run/reprieve/trainers/a.json
container
cat /run/reprieve/trainers/a.json
findmnt --noheadings --output TARGET,FSTYPE --list | grep '^/run/reprieve' | sort
if head --bytes 5M /dev/zero > /run/reprieve/requests/big 2>/dev/null; then echo unbounded; fi
echo flag > /run/reprieve/notice.json
"""
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "/bin/bash", "-c", script],
        env={"PATH": os.environ["PATH"], "INNER": inner, "OWNER": "65532"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["65532", "755"],
        ["65532", "1777"],
        ["65532", "1777"],
        ["kept"],
        ["/run/reprieve/requests", "tmpfs"],
        ["/run/reprieve/trainers", "tmpfs"],
    ]


@pytest.mark.parametrize("path", [*COMPONENTS, *OVERLAYS], ids=lambda path: path.name)
def test_folder_is_explained_when_the_readme_is_read(path: Path) -> None:
    """One that it does not name would be found by nobody."""
    name = f"overlays/{path.name}" if path in OVERLAYS else path.name
    assert f"`{name}`" in (DAEMONSET / "README.md").read_text()
