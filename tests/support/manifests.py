"""Manifests to prove things about: our own, and one with every usual defect."""

from typing import Any

import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency

from trainer_hooks.manifest.render import Form, render
from trainer_hooks.manifest.request import Request, platform_named

Documents = list[dict[str, Any]]


def request(cloud: str = "eks", **changes: Any) -> Request:  # noqa: ANN401 - any of its fields
    """Return an ordinary request: four nodes of eight GPUs."""
    known: dict[str, Any] = {
        "name": "run-7",
        "image": "ghcr.io/me/train:1",
        "nodes": 4,
        "gpus": 8,
        "platform": platform_named(cloud),
        "window_s": None,
        "script": ("train.py", "--checkpoint-dir", "/checkpoints/run-7"),
    }
    return Request(**known | changes)


def rendered(form: Form, asked: Request) -> Documents:
    """Return the objects of a rendered manifest."""
    return list(yaml.safe_load_all(render(form, asked)))


def one(kind: str, documents: Documents) -> dict[str, Any]:
    """Return the only object of a kind."""
    [found] = [document for document in documents if document["kind"] == kind]
    return found


def pod_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the pod's spec of a Job or JobSet."""
    spec = document["spec"]
    if document["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    pod: dict[str, Any] = spec["template"]["spec"]
    return pod


WIDELY_COPIED = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: pretrain
  annotations:
    kueue.x-k8s.io/queue-name: training
spec:
  failurePolicy:
    maxRestarts: 5
    rules:
      - action: RestartJobSetAndIgnoreMaxRestarts
        onJobFailureReasons: [PodFailurePolicy]
  replicatedJobs:
    - name: workers
      replicas: 1
      template:
        spec:
          completionMode: Indexed
          parallelism: 64
          completions: 64
          backoffLimit: 0
          podFailurePolicy:
            rules:
              - action: FailJob
                onExitCodes:
                  operator: NotIn
                  values: [0, 143]
              - action: FailJob
                onPodConditions:
                  - type: DisruptionTarget
          template:
            spec:
              terminationGracePeriodSeconds: 120
              tolerations:
                - key: cloud.google.com/gke-spot
                  operator: Equal
                  value: "true"
                  effect: NoSchedule
              containers:
                - name: trainer
                  image: ghcr.io/me/train:1
                  command:
                    - torchrun
                    - --nnodes=64
                    - --nproc-per-node=8
                    - --max-restarts=0
                    - --rdzv-backend=c10d
                    - --rdzv-endpoint=$(JOBSET_NAME)-workers-0-0.$(JOBSET_NAME):29500
                    - train.py
"""
"""A manifest with every usual defect in it."""
