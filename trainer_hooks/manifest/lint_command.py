"""Defects of command lines: codes and signals that get lost, words that nobody replaces."""

import re
from collections.abc import Collection, Iterator

from trainer_hooks.manifest.command import Command, whole
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.lint_pod import grace_of
from trainer_hooks.manifest.workload import Workload

TORCHRUN_GRACE_S = 30
"""torchrun's own, from SIGTERM to SIGKILL (shutdown_timeout in its api.py, read 2026-11-30)."""

_REFERENCE = re.compile(r"(?<!\$)(?:\$\$)*\$\(([A-Za-z_][A-Za-z0-9_]*)\)")

_SWALLOWED = (
    (re.compile(r"\|\|\s*(true\b|:|exit 0)"), "|| true"),
    (re.compile(r"(;|\n|&&)[ \t]*exit 0\Z"), "exit 0 at the end"),
    (
        re.compile(r"trap\s+(['\"])[^'\"]*exit(\s+0)?\s*(;\s*)?\1\s+([A-Z0-9][A-Z0-9 ]*)?TERM"),
        "exit 0 on SIGTERM",
    ),
)


def swallowed(script: str) -> str | None:
    """Return what in a shell script turns the trainer's exit code into 0."""
    for pattern, what in _SWALLOWED:
        if pattern.search(script.rstrip()):
            return what
    if re.search(r"[^|]\|\s*(tee|cat|sed|awk|grep|ts)\b", script) and "pipefail" not in script:
        return "a pipe without pipefail"
    return None


def lint_command(workload: Workload, command: Command) -> Iterator[Finding]:
    """Name what is wrong with the command line of a job."""
    yield from _shell(command)
    yield from _references(workload)
    if command.launcher == "torchrun":
        yield from torchrun(command, workload.variables, grace_of(workload))
    if command.launcher == "launch":
        yield from _window(workload, command)
    if command.launcher is not None:
        yield from _rendezvous(workload, command)


def _shell(command: Command) -> Iterator[Finding]:
    if command.script is None:
        return
    if (what := swallowed(command.script)) is not None:
        yield Finding(
            command.line,
            "exit-code-lost",
            f"{what}: a preempted pod exits with 0, its index counts as done, and is never started "
            "again",
            "let the launcher's exit code be the container's",
        )
    lines = [line.strip() for line in re.split(r"[\n;]|&&", command.script)]
    is_alone = len([line for line in lines if line and not line.startswith("#")]) == 1
    is_exec = re.search(r"\bexec\s+(\S*/)?(reprieve-trainer|torchrun|python)", command.script)
    if not is_exec and not is_alone and "trap" not in command.script:
        yield Finding(
            command.line,
            "signal-lost",
            "the shell is the container's first process: it gets the SIGTERM and keeps it",
            "exec before the launcher, as the script's last command",
        )


def _references(workload: Workload) -> Iterator[Finding]:
    trainer = workload.trainer
    known = workload.variables
    is_indexed = workload.is_set or workload.job.at("completionMode").text == "Indexed"
    if is_indexed:
        known.add("JOB_COMPLETION_INDEX")
    if trainer.at("envFrom").is_there:
        return
    for tree in (*trainer.at("command").items, *trainer.at("args").items):
        for name in _REFERENCE.findall(tree.text):
            is_substitution = any(c.isspace() for c in tree.text) and not name.isupper()
            if name in known or is_substitution:
                continue
            yield Finding(
                tree.line,
                "literal-variable",
                f"$({name}) is not in this container's env: Kubernetes leaves it as it stands",
                "name it in env, with valueFrom.fieldRef for a label, or write the name itself",
            )


def torchrun(command: Command, known: Collection[str], grace_s: int) -> Iterator[Finding]:
    """Name what torchrun does to a stop, in a pod or elsewhere.

    Args:
        command: It, and its options.
        known: The variables of its environment.
        grace_s: Seconds from SIGTERM to SIGKILL on its platform.
    """
    yield Finding(
        command.line,
        "torchrun-exit-code",
        "torchrun exits with 1 for everything: a preemption, a wrong set-up and a bug look alike",
        "reprieve-trainer launch, with the same arguments",
    )
    restarts = command.option("--max-restarts")
    if restarts not in (None, "0"):
        yield Finding(
            command.line,
            "restart-on-the-dying-node",
            f"--max-restarts={restarts}: torchrun starts the ranks again on the node that goes",
            "--max-restarts=0, and leave starting again to the scheduler",
        )
    is_raised = (
        command.option("--shutdown-timeout") is not None
        or "TORCH_ELASTIC_SHUTDOWN_TIMEOUT" in known
    )
    if grace_s > TORCHRUN_GRACE_S and not is_raised:
        yield Finding(
            command.line,
            "torchrun-kills-early",
            f"torchrun kills its ranks {TORCHRUN_GRACE_S} s after SIGTERM, and {grace_s} are there",
            f"reprieve-trainer launch --window={grace_s}, or --shutdown-timeout",
        )


def _window(workload: Workload, command: Command) -> Iterator[Finding]:
    grace = grace_of(workload)
    window = command.option("--window")
    if window is None:
        yield Finding(
            command.line,
            "no-window",
            "without --window the ranks count on 30 s when they decide what to save",
            f"--window={grace}, right after launch",
            Weight.ADVICE,
        )
    elif (whole(window) or 0) > grace:
        yield Finding(
            command.line,
            "window-too-long",
            f"the ranks count on {window} s and the kubelet kills them after {grace}",
            f"--window={grace}",
        )


def _rendezvous(workload: Workload, command: Command) -> Iterator[Finding]:
    nodes = command.option("--nnodes") or "1"
    if whole(nodes) not in (None, workload.nodes):
        yield Finding(
            command.line,
            "nodes-differ",
            f"--nnodes={nodes} and {workload.nodes} pods: the ranks wait for one another for ever",
            f"--nnodes={workload.nodes}",
        )
    if workload.nodes == 1:
        return
    is_static = command.option("--master-addr") is not None
    if not is_static and command.option("--rdzv-id") is None:
        yield Finding(
            command.line,
            "no-rendezvous-id",
            "without --rdzv-id two jobs that meet at one address take each other for themselves",
            "--rdzv-id=NAME-OF-THE-JOB",
        )
    rank = command.option("--node-rank")
    is_first_of_each_job = workload.replicas > 1 and rank == "$(JOB_COMPLETION_INDEX)"
    if is_static and (rank is None or is_first_of_each_job):
        yield Finding(
            command.line,
            "no-node-rank",
            "several pods take themselves for the first",
            "--node-rank=$(JOB_COMPLETION_INDEX), and one replicated job with replicas: 1",
        )
    if not workload.is_set and not workload.pod.at("subdomain").is_there:
        yield Finding(
            workload.pod.line,
            "no-headless-service",
            "the pods of a Job have no names in DNS without subdomain and a headless Service",
            "a Service with clusterIP None, and its name as subdomain",
        )
