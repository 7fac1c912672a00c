"""The command line of ``reprieve-trainer manifest``; it needs no torch."""

import argparse

_ABOUT = """\
Print what a scheduler has to be told about a training job: a manifest in which a preemption spends
no restart, a crash does, and nothing waits for a node longer than it lives.

  reprieve-trainer manifest jobset --name run-7 --image ghcr.io/me/train:1 --nodes 4 --gpus 8 \\
      --cloud eks -- train.py --checkpoint-dir /checkpoints/run-7 | kubectl apply -f -

"""

_FORMS = {
    "jobset": "a JobSet: all nodes start again together",
    "job": "a plain Job and its headless service: each pod is replaced by itself",
    "cluster": "what an administrator applies once: Kueue's queues, images pulled in advance, a "
    "warm spare node",
    "slurm": "a batch script that requeues itself after a preemption",
}


def add_manifests(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    manifest = commands.add_parser(
        "manifest",
        help="print a manifest for Kubernetes or Slurm",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    forms = manifest.add_subparsers(dest="form", required=True)
    for form, what in _FORMS.items():
        own = forms.add_parser(form, help=what, description=f"{what[0].upper()}{what[1:]}.")
        _add_request(own, is_kubernetes=form != "slurm")


def _add_request(own: argparse.ArgumentParser, *, is_kubernetes: bool) -> None:
    own.add_argument("--name", required=True, help="of the job")
    own.add_argument("--nodes", type=int, default=1, metavar="N", help="(default 1)")
    own.add_argument("--gpus", type=int, default=8, metavar="N", help="of a node (default 8)")
    own.add_argument(
        "--window",
        type=int,
        metavar="S",
        help="seconds from SIGTERM to the end, if you know better",
    )
    own.add_argument("script", nargs="+", metavar="SCRIPT", help="and its arguments, after --")
    if not is_kubernetes:
        return
    own.add_argument("--image", required=True, help="with PyTorch, reprieve and the script")
    own.add_argument(
        "--cloud", default="other", metavar="NAME", help="eks, karpenter, gke, aks or other"
    )
    own.add_argument("--queue", metavar="NAME", help="Kueue's LocalQueue, which picks the nodes")
    own.add_argument("--namespace", default="default")
    own.add_argument(
        "--claim", default="checkpoints", help="the volume claim for them (default checkpoints)"
    )
    own.add_argument(
        "--mount", default="/checkpoints", metavar="PATH", help="where it is (default /checkpoints)"
    )
    own.add_argument("--gpu-resource", default="nvidia.com/gpu", metavar="NAME")
    own.add_argument(
        "--max-crashes", type=int, default=5, metavar="K", help="before it gives up (default 5)"
    )
