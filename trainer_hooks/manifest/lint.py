"""Lint: what would go wrong with a manifest when a node is taken away."""

from collections.abc import Iterator, Sequence

from trainer_hooks.manifest.command import command_of
from trainer_hooks.manifest.document import Tree, read_documents
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.lint_command import lint_command
from trainer_hooks.manifest.lint_pod import lint_pod, window_of
from trainer_hooks.manifest.lint_policy import lint_policy
from trainer_hooks.manifest.lint_queue import is_kueues, lint_queue
from trainer_hooks.manifest.lint_slurm import is_batch_script, lint_batch_script
from trainer_hooks.manifest.platforms import Platform
from trainer_hooks.manifest.workload import workloads


def lint(text: str, platform: Platform | None = None, window_s: int | None = None) -> list[Finding]:
    """Return what is wrong with a manifest or batch script, in the order of its lines.

    Args:
        text: The file.
        platform: The kind of cluster; None to guess it from selectors and tolerations.
        window_s: Seconds from a notice to the end of a node, where the platform's don't hold.

    Raises:
        ConfigError: The file is no YAML, or larger than any manifest.
    """
    if is_batch_script(text):
        return sorted({*lint_batch_script(text)})
    reading = read_documents(text)
    found = {
        Finding(
            line,
            "duplicate-key",
            f"{key} is there twice: kubectl refuses it, or the first one is lost",
            "keep one",
        )
        for line, key in reading.duplicates
    }
    for document in reading.documents:
        found.update(_document(document, platform, window_s))
    if not any(_is_judged(document) for document in reading.documents):
        found.add(_nothing_judged(reading.documents))
    return sorted(found)


def _is_judged(document: Tree) -> bool:
    return is_kueues(document) or next(workloads(document), None) is not None


def _nothing_judged(documents: Sequence[Tree]) -> Finding:
    kinds = sorted({document.at("kind").text or "nothing with a kind" for document in documents})
    return Finding(
        1,
        "nothing-judged",
        f"no Job, CronJob, JobSet or queue of Kueue is here, but {', '.join(kinds) or 'nothing'}: "
        "this file was not judged",
        "name the file that has the job; render a chart first",
        Weight.ADVICE,
    )


def _document(document: Tree, platform: Platform | None, window_s: int | None) -> Iterator[Finding]:
    yield from lint_queue(document)
    for workload in workloads(document):
        command = command_of(workload.trainer)
        window = window_of(workload, platform, window_s)
        yield from lint_policy(workload)
        yield from lint_pod(workload, window, command)
        yield from lint_command(workload, command)
