"""Defects of pods: how long they are given, where they run, and what they lack."""

from collections.abc import Iterator
from dataclasses import dataclass

from trainer_hooks.manifest.command import Command
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.platforms import Platform
from trainer_hooks.manifest.workload import Workload, requests_gpu

DEFAULT_GRACE_S = 30
"""Kubernetes' terminationGracePeriodSeconds, where a pod says nothing."""

RUN_DIR = "/run/reprieve"

_LASTING = ("persistentVolumeClaim", "nfs", "csi", "hostPath", "cephfs", "azureFile")

_GOING = {
    "cloud.google.com/impending-node-termination",
    "karpenter.sh/disrupted",
    "reprieve.dev/reclaim",
    "node.kubernetes.io/unschedulable",
}
"""Taints of nodes that are about to go."""


@dataclass(frozen=True, slots=True)
class Window:
    """How long a node lives after its notice, if that is known."""

    seconds: int | None
    of: str


def window_of(workload: Workload, platform: Platform | None, said_s: int | None) -> Window:
    """Return the shortest window that applies to a job."""
    if said_s is not None:
        return Window(said_s, "--window")
    known = [platform] if platform else workload.platforms()
    if not known:
        return Window(None, "")
    shortest = min(known, key=lambda one: one.window_s)
    return Window(shortest.window_s, shortest.name)


def grace_of(workload: Workload) -> int:
    """Return the seconds from SIGTERM to SIGKILL."""
    grace_s = workload.pod.at("terminationGracePeriodSeconds").number
    return DEFAULT_GRACE_S if grace_s is None else grace_s


def lint_pod(workload: Workload, window: Window, command: Command) -> Iterator[Finding]:
    """Name what is wrong with the pods of a job."""
    yield from _grace(workload, window)
    yield from _place(workload)
    yield from _needs(workload, command)
    yield from _flag(workload)
    hook = workload.trainer.at("lifecycle", "preStop", "exec", "command")
    if any("kill" in word for text in hook.texts for word in text.split()):
        yield Finding(
            hook.line,
            "pre-stop-kill",
            "a signal to one worker looks like its crash to the launcher, which ends the others",
            "no preStop: the kubelet's SIGTERM reaches the launcher, and it tells all ranks",
        )


def _grace(workload: Workload, window: Window) -> Iterator[Finding]:
    grace = workload.pod.at("terminationGracePeriodSeconds")
    grace_s = grace_of(workload)
    if window.seconds is None:
        return
    said = f"the grace of {grace_s} s{'' if grace.is_there else ', which is the default,'}"
    if grace_s > window.seconds:
        yield Finding(
            grace.line,
            "grace-too-long",
            f"{said} is longer than the node lives ({window.seconds} s by {window.of}): the save "
            "that counts on it is cut off",
            f"terminationGracePeriodSeconds: {window.seconds} or less",
        )
    elif not grace.is_there and grace_s < window.seconds:
        yield Finding(
            grace.line,
            "grace-too-short",
            f"{said} throws away {window.seconds - grace_s} of the node's {window.seconds} s",
            "say terminationGracePeriodSeconds, a few seconds below that",
            Weight.ADVICE,
        )


def _place(workload: Workload) -> Iterator[Finding]:
    platforms = workload.platforms()
    selector = workload.pod.at("nodeSelector")
    if len(platforms) > 1:
        yield Finding(
            selector.line,
            "mixed-clouds",
            f"selector and tolerations are of {' and '.join(one.name for one in platforms)}: no "
            "node has both, or the grace of one is not the other's",
            "one cloud's",
        )
    if platforms and not workload.selects_spot and not workload.is_queued:
        yield Finding(
            workload.pod.at("tolerations").line,
            "no-spot-selector",
            "a toleration lets the pods onto Spot nodes, and does not send them there",
            "nodeSelector: " + "".join(f"{k}: {v}" for k, v in platforms[0].spot.items()),
        )
    if workload.is_queued and workload.selects_spot:
        yield Finding(
            selector.line,
            "selector-in-queue",
            "with a Spot selector in the pod Kueue can't fall back to its on-demand flavour",
            "leave selector and tolerations to the ResourceFlavor",
            Weight.ADVICE,
        )
    for toleration in workload.pod.at("tolerations").items:
        key = toleration.at("key")
        if not key.is_there or key.text in _GOING:
            yield Finding(
                toleration.line,
                "tolerates-the-end",
                f"this tolerates {key.text or 'every taint'}: the job may start on a node that is "
                "about to go",
                "tolerate the Spot taint only",
            )


def _needs(workload: Workload, command: Command) -> Iterator[Finding]:
    has_gpu = any(requests_gpu(one) for one in workload.pod.at("containers").items)
    ranks = command.option("--nproc-per-node")
    if not has_gpu and ranks not in ("1", "cpu"):
        yield Finding(
            workload.trainer.line,
            "no-gpu",
            "no container has a limit for GPUs: several jobs may share a node's, or none is there",
            "resources.limits of nvidia.com/gpu: as many as ranks",
            Weight.ADVICE if ranks is None else Weight.ERROR,
        )
    lasting = {
        volume.at("name").text
        for volume in workload.pod.at("volumes").items
        if volume.fields.keys() & {*_LASTING}
    }
    paths = [
        mount.at("mountPath").text.rstrip("/")
        for name, mount in workload.mounts.items()
        if name in lasting and not _is_in(mount.at("mountPath").text.rstrip("/"), RUN_DIR)
    ]
    directory = command.option("--checkpoint-dir")
    if directory is not None:
        directory = directory.removeprefix("file://")  # the path that it holds
    if directory is not None and "://" in directory:
        return
    is_kept = bool(paths) if directory is None else any(_is_in(directory, path) for path in paths)
    if not is_kept and (not directory or directory.startswith("/")):
        yield Finding(
            workload.trainer.line,
            "no-checkpoint-volume",
            f"{directory or 'what the trainer writes'} is on no volume that outlives the pod",
            "mount a PersistentVolumeClaim (ReadWriteMany) there, or name a bucket",
        )


def _is_in(directory: str, path: str) -> bool:
    return directory == path or directory.startswith(f"{path}/")


def _flag(workload: Workload) -> Iterator[Finding]:
    for mount in workload.mounts.values():
        path = mount.at("mountPath").text.rstrip("/")
        if path == f"{RUN_DIR}/notice.json" or (path == RUN_DIR and mount.at("subPath").is_there):
            yield Finding(
                mount.line,
                "flag-not-a-directory",
                "a file or subPath that is mounted never shows the rename that publishes a notice",
                f"mount the host's directory {RUN_DIR}",
            )
            return
        if path == RUN_DIR:
            yield from _status(workload)
            return
    if "REPRIEVE_NOTICE_URL" in workload.variables:
        yield from _status(workload)
    elif "REPRIEVE_RUN_DIR" not in workload.variables:
        yield Finding(
            workload.trainer.line,
            "no-flag",
            "the node's notices don't reach the trainer: it hears of its end from SIGTERM only",
            f"mount the host's directory {RUN_DIR} read-only, or set REPRIEVE_NOTICE_URL",
            Weight.ADVICE,
        )


def _status(workload: Workload) -> Iterator[Finding]:
    is_told = "REPRIEVE_POD_UID" in workload.variables and any(
        mount.at("mountPath").text.rstrip("/") == f"{RUN_DIR}/trainers"
        and mount.at("readOnly").text != "true"
        for mount in workload.mounts.values()
    )
    annotations = workload.job.at("template", "metadata", "annotations")
    if is_told or annotations.at("reprieve.dev/trainer").is_there:
        return
    yield Finding(
        workload.trainer.line,
        "no-status",
        "the watcher does not learn how the trainer is, and may evict it before it has saved",
        f"mount the host's {RUN_DIR}/trainers and set REPRIEVE_POD_UID, or give the pod the "
        'annotation reprieve.dev/trainer: "true"',
        Weight.ADVICE,
    )
