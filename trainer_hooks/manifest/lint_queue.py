"""Defects of what Kueue reads: names in the wrong place, words of an older version."""

from collections.abc import Iterator

from trainer_hooks.manifest.document import Tree
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.workload import QUEUE_NAME

_GROUP = "kueue.x-k8s.io/"

_OLD_WORDS = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def is_kueues(document: Tree) -> bool:
    """Tell whether a document is an object of Kueue's own."""
    return document.at("apiVersion").text.startswith(_GROUP)


def lint_queue(document: Tree) -> Iterator[Finding]:
    """Name what is wrong in a document for Kueue."""
    annotation = document.at("metadata", "annotations", QUEUE_NAME)
    if annotation.is_there:
        yield Finding(
            annotation.line,
            "queue-not-a-label",
            "Kueue reads the queue's name from labels only: this job runs past the queue",
            f"under metadata.labels: {QUEUE_NAME}: {annotation.text}",
        )
    version = document.at("apiVersion")
    if not is_kueues(document):
        return
    if version.text != f"{_GROUP}v1beta2":
        yield Finding(
            version.line,
            "kueue-version",
            f"{version.text} is deprecated, and its words differ from the stored version's",
            f"apiVersion: {_GROUP}v1beta2",
            Weight.ADVICE,
        )
    if document.at("kind").text == "ClusterQueue":
        yield from _cluster_queue(document.at("spec"), is_old=not version.text.endswith("v1beta2"))


def _cluster_queue(spec: Tree, *, is_old: bool) -> Iterator[Finding]:
    for name in ("whenCanBorrow", "whenCanPreempt"):
        word = spec.at("flavorFungibility", name)
        if word.text in _OLD_WORDS and not is_old:
            yield Finding(
                word.line,
                "kueue-old-word",
                f"v1beta2 refuses {name}: {word.text}",
                f"{name}: {_OLD_WORDS[word.text]}",
            )
    cohort = spec.at("cohort")
    if cohort.is_there and not is_old:
        yield Finding(
            cohort.line, "kueue-old-word", "v1beta2 calls the cohort cohortName", "cohortName"
        )
    if cohort.is_there or spec.at("cohortName").is_there:
        return
    for group in spec.at("resourceGroups").items:
        for flavour in group.at("flavors").items:
            for resource in flavour.at("resources").items:
                limit = resource.at("borrowingLimit")
                if limit.is_there:
                    yield Finding(
                        limit.line,
                        "kueue-borrowing",
                        "without a cohort there is nobody to borrow from: Kueue refuses it",
                        "cohortName, or no borrowingLimit",
                    )
