"""The training jobs in a document, and the parts of them that matter here."""

from collections.abc import Iterator
from dataclasses import dataclass

from trainer_hooks.manifest.document import Tree
from trainer_hooks.manifest.platforms import PLATFORMS, Platform

GPU_WORDS = ("nvidia.com/", "amd.com/gpu", "google.com/tpu", "aws.amazon.com/neuron", "habana.ai/")
"""How the resources begin that a training job asks for."""

QUEUE_NAME = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True, slots=True)
class Workload:
    """A Job, or one replicated job of a JobSet."""

    root: Tree
    """The whole object."""
    job: Tree
    """The Job's spec."""
    is_set: bool
    name: str = ""
    """The replicated job's."""
    replicas: int = 1
    """How many Jobs of this kind a JobSet has."""

    @property
    def pod(self) -> Tree:
        """The pod's spec."""
        return self.job.at("template", "spec")

    @property
    def failure_policy(self) -> Tree:
        """The JobSet's."""
        return self.root.at("spec", "failurePolicy")

    @property
    def nodes(self) -> int:
        """How many pods run side by side."""
        pods = self.job.at("parallelism").number or self.job.at("completions").number or 1
        return pods * self.replicas

    @property
    def is_queued(self) -> bool:
        """Whether Kueue picks its nodes."""
        return self.root.at("metadata", "labels", QUEUE_NAME).is_there

    @property
    def trainer(self) -> Tree:
        """The container that trains: with a GPU, else the first."""
        containers = self.pod.at("containers").items
        with_gpu = [one for one in containers if requests_gpu(one)]
        return (with_gpu or containers or [Tree(self.pod.line)])[0]

    @property
    def mounts(self) -> dict[str, Tree]:
        """The trainer's mounts by the name of their volume."""
        return {one.at("name").text: one for one in self.trainer.at("volumeMounts").items}

    @property
    def variables(self) -> set[str]:
        """The names in the trainer's env."""
        return {one.at("name").text for one in self.trainer.at("env").items}

    def platforms(self) -> list[Platform]:
        """Return the kinds of cluster whose Spot nodes its selector or tolerations name."""
        tolerated = {one.at("key").text for one in self.pod.at("tolerations").items}
        return _with_spot_label(tolerated | self._selected)

    @property
    def selects_spot(self) -> bool:
        """Whether its nodes are Spot nodes by a selector or an affinity."""
        return bool(_with_spot_label(self._selected))

    @property
    def _selected(self) -> set[str]:
        """The labels that its selector and affinities name."""
        affinities = (one.at("key").text for one in _affinities(self.pod))
        return {*self.pod.at("nodeSelector").fields, *affinities}


def requests_gpu(container: Tree) -> bool:
    """Tell whether a container asks for an accelerator, as only limits do."""
    limits = container.at("resources", "limits").fields
    return any(name.startswith(GPU_WORDS) for name in limits)


def workloads(document: Tree) -> Iterator[Workload]:
    """Return the training jobs of a document; of a list, those of its items."""
    match document.at("kind").text:
        case "Job":
            yield Workload(document, document.at("spec"), is_set=False)
        case "CronJob":
            yield Workload(document, document.at("spec", "jobTemplate", "spec"), is_set=False)
        case "JobSet":
            for replicated in document.at("spec", "replicatedJobs").items:
                job, replicas = replicated.at("template", "spec"), replicated.at("replicas").number
                name = replicated.at("name").text
                yield Workload(document, job, is_set=True, name=name, replicas=replicas or 1)
        case "List":
            for item in document.at("items").items:
                if item.at("kind").text != "List":
                    yield from workloads(item)


def _with_spot_label(labels: set[str]) -> list[Platform]:
    return [one for one in PLATFORMS.values() if labels & {*one.spot}]


def _affinities(pod: Tree) -> Iterator[Tree]:
    required = pod.at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in required.at("nodeSelectorTerms").items:
        yield from term.at("matchExpressions").items
