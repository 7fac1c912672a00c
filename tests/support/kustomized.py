"""Manifests as `kubectl kustomize` renders them, and whether Kubernetes would know their fields."""

import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, cast

import jsonschema  # type: ignore[import-untyped]  # its stubs would be one more dependency
import kubernetes_validate  # type: ignore[import-untyped]  # it has none
import yaml  # type: ignore[import-untyped]  # likewise

from tests.support.custom_resources import CUSTOM_RESOURCES
from tests.support.kubectl import PROGRAM

DEPLOY = Path(__file__).parents[2] / "deploy"
DAEMONSET = DEPLOY / "daemonset"
BASE = DAEMONSET / "base"
OVERLAYS = sorted((DAEMONSET / "overlays").iterdir())
COMPONENTS = sorted((DAEMONSET / "components").iterdir())

KUBERNETES = "1.37"

Manifest = dict[str, Any]


@cache
def rendered(directory: Path) -> list[Manifest]:
    """Return every object of a kustomization, in order; not for changing."""
    shown = subprocess.run(
        [PROGRAM, "kustomize", directory], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    return list(yaml.safe_load_all(shown.stdout))


def composed(
    directory: Path, resources: Iterable[Path], components: Iterable[Path]
) -> list[Manifest]:
    """Return what a kustomization of a user's renders, written to an empty directory."""
    kinds = {"resources": resources, "components": components}
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        **{name: [os.path.relpath(one, directory) for one in some] for name, some in kinds.items()},
    }
    directory.mkdir(exist_ok=True)
    (directory / "kustomization.yaml").write_text(yaml.safe_dump(document))
    return rendered(directory)


def named(objects: Iterable[Manifest], kind: str, name: str = "") -> Manifest:
    """Return the only object of a kind, or of a kind and name."""
    (found,) = [
        one for one in objects if one["kind"] == kind and name in ("", one["metadata"]["name"])
    ]
    return found


def check(document: Manifest) -> None:
    """Hold an object against its schema; a field that the schema lacks is an error."""
    schema = CUSTOM_RESOURCES.get((document["apiVersion"], document["kind"]))
    if schema is None:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
        return
    jsonschema.validate(document, schema)
    for job in document["spec"].get("replicatedJobs", []) if "spec" in document else []:
        template = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
        kubernetes_validate.validate(template | job["template"], KUBERNETES, strict=True)


def pod_of(objects: list[Manifest]) -> Manifest:
    """Return the pod of the daemons."""
    return cast("Manifest", named(objects, "DaemonSet")["spec"]["template"]["spec"])


def watcher_of(objects: list[Manifest]) -> Manifest:
    """Return the daemon's container."""
    (watcher,) = pod_of(objects)["containers"]
    return cast("Manifest", watcher)


def environment_of(container: Manifest) -> dict[str, str]:
    """Return a container's variables, those of the downward API with an example."""
    return {one["name"]: one.get("value", "10.0.0.7") for one in container.get("env", [])}
