"""Manifests from templates: ``$name`` in one is a value of the request, quoted for YAML or sh."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from string import Template

from trainer_hooks.errors import ConfigError
from trainer_hooks.manifest.platforms import Platform
from trainer_hooks.manifest.request import Request

_RENDEZVOUS_PORT = 29500
"""torchrun's own default."""


class Form(StrEnum):
    """What can be rendered."""

    JOBSET = "jobset"
    JOB = "job"
    CLUSTER = "cluster"
    """What an administrator applies once: queues, images in advance, warm spare nodes."""
    SLURM = "slurm"


_BLOCK = re.compile(r"^( *)\$([a-z_]+)\n", re.MULTILINE)
"""A line of a template that is nothing but a value, which may have many lines, or none."""


def render(form: Form, request: Request) -> str:
    """Return a manifest, ready to be applied.

    Raises:
        ConfigError: This form can't express the request.
    """
    if form is Form.SLURM:
        return _filled("slurm.sh", _slurm_values(request))
    if form is Form.CLUSTER:
        return _filled("cluster.yaml", _cluster_values(request))
    pod = _filled("pod.yaml", _pod_values(form, request))
    return _filled(f"{form}.yaml", _job_values(request) | {"pod": pod.rstrip("\n")})


def _filled(template: str, values: Mapping[str, object]) -> str:
    text = (files("trainer_hooks.manifest") / "templates" / template).read_text(encoding="utf-8")

    def block(match: re.Match[str]) -> str:
        lines = str(values[match[2]]).splitlines()
        return "".join(f"{match[1]}{line}\n" for line in lines).replace("$", "$$")

    return Template(_BLOCK.sub(block, text)).substitute(values)


def _job_values(request: Request) -> dict[str, object]:
    queue = {"labels": {"kueue.x-k8s.io/queue-name": request.queue}} if request.queue else {}
    return {
        "name": request.name,
        "namespace": request.namespace,
        "labels": _yaml(queue),
        "nodes": request.nodes,
        "max_crashes": request.max_crashes,
    }


def _pod_values(form: Form, request: Request) -> dict[str, object]:
    # A queue's flavour says which nodes: in the pod it would bar it from the other flavour.
    placement = {} if request.queue else _placement(request.platform)
    host = f"{request.name}-workers-0-0" if form is Form.JOBSET else f"{request.name}-0"
    return {
        "grace_s": request.grace_s,
        "subdomain": _yaml({"subdomain": request.name} if form is Form.JOB else {}),
        "placement": _yaml(placement),
        "image": _quoted(request.image),
        "command": _yaml(_command(request, f"{host}.{request.name}")),
        "resources": _yaml(_resources(request)),
        "claim": request.claim,
        "mount": request.mount,
    }


def _cluster_values(request: Request) -> dict[str, object]:
    platform = request.platform
    if not (platform.spot and request.gpus):
        raise ConfigError("cluster needs GPUs, and a --cloud whose Spot nodes have a known label")
    spot: dict[str, object] = {"nodeLabels": {**platform.spot}}
    if platform.tolerations:
        spot["tolerations"] = platform.tolerations
    on_demand = {"spec": {"nodeLabels": {**platform.on_demand}}} if platform.on_demand else {}
    return {
        "name": request.name,
        "namespace": request.namespace,
        "queue": request.queue or "training",
        "image": _quoted(request.image),
        "gpu_resource": request.gpu_resource,
        "quota": request.nodes * request.gpus,
        "spot_flavour": _yaml(spot),
        "on_demand_spec": _yaml(on_demand),
        "placement": _yaml(_placement(platform)),
        "resources": _yaml(_resources(request)),
    }


def _placement(platform: Platform) -> dict[str, object]:
    placement: dict[str, object] = {}
    if platform.spot:
        placement["nodeSelector"] = {**platform.spot}
    if platform.tolerations:
        placement["tolerations"] = platform.tolerations
    return placement


def _resources(request: Request) -> dict[str, object]:
    if not request.gpus:
        return {}
    return {"resources": {"limits": {request.gpu_resource: request.gpus}}}


def _command(request: Request, host: str) -> list[str]:
    """Return what the container is started with: torchrun's options, and the script.

    With a fixed rank and a fixed host of the rendezvous a pod may start long before the first one.
    """
    rendezvous = [
        f"--nnodes={request.nodes}",
        "--node-rank=$(JOB_COMPLETION_INDEX)",
        f"--master-addr={host}",
        f"--master-port={_RENDEZVOUS_PORT}",
    ]
    return [
        "reprieve-trainer",
        "launch",
        f"--window={request.grace_s}",
        "--report=/dev/termination-log",
        *(rendezvous if request.nodes > 1 else ()),
        f"--nproc-per-node={request.ranks}",
        *(word.replace("$", "$$") for word in request.script),  # which Kubernetes makes one again
    ]


def _slurm_values(request: Request) -> dict[str, object]:
    if request.queue is not None:
        raise ConfigError("--queue is Kueue's; Slurm's partition is an option of sbatch")
    command = [
        "reprieve-trainer",
        "launch",
        f"--window={request.grace_s}",
        f"--nnodes={request.nodes}",
        f"--nproc-per-node={request.ranks}",
    ]
    return {
        "name": request.name,
        "nodes": request.nodes,
        "gpus": f"#SBATCH --gpus-per-node={request.gpus}" if request.gpus else "",
        "grace_s": request.grace_s,
        "command": shlex.join(command),
        "port": _RENDEZVOUS_PORT,
        "script": shlex.join(request.script),
    }


def _yaml(value: Mapping[str, object] | Sequence[object]) -> str:
    """Return a value as YAML in block style; what is empty is nothing at all."""
    return "\n".join(_lines(value))


def _lines(value: object) -> list[str]:
    if isinstance(value, Mapping):
        lines = list[str]()
        for key, inner in value.items():
            if isinstance(inner, Mapping | list):
                lines += [f"{_scalar(key)}:", *(f"  {line}" for line in _lines(inner))]
            else:
                lines.append(f"{_scalar(key)}: {_scalar(inner)}")
        return lines
    if isinstance(value, list):
        return [
            f"{'  ' if at else '- '}{line}"
            for entry in value
            for at, line in enumerate(_lines(entry))
        ]
    return [_scalar(value)]


def _scalar(value: object) -> str:
    """Return a scalar; words that can be nothing else stay bare."""
    if isinstance(value, str):
        is_bare = value[:1].isalpha() and all(c.isalnum() or c in "-./_" for c in value)
        is_word = value.lower() in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
        return value if is_bare and value.isascii() and not is_word else _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    """Return a string as JSON, which is YAML but for the escapes beyond the first plane."""
    return json.dumps(text, ensure_ascii=False)
