"""The command of a rendered manifest, run as two pods would run it."""

import signal
from pathlib import Path

import pytest

from tests.support.launching import Launch, launch, wait_until
from tests.support.manifests import one, pod_of, rendered, request
from tests.support.ports import quiet_port
from trainer_hooks.manifest.render import Form

pytestmark = [pytest.mark.ranks, pytest.mark.timeout(120)]

SCRIPT = """
import os, sys
from pathlib import Path
import torch.distributed as dist
from tests.support.tiny import Tiny
dist.init_process_group("gloo")
directory = Path(sys.argv[1])
tiny = Tiny(checkpoint_dir=directory / "checkpoints", log_dir=directory / "log", steps=10_000)
tiny.train(int(os.environ["RANK"]))
"""
"""Trains for longer than the test waits."""


def pod(tmp_path: Path, index: int, port: int) -> Launch:
    """Start what pod ``index`` of the JobSet is started with, on loopback."""
    asked = request("other", nodes=2, gpus=1, window_s=60)
    [container] = pod_of(one("JobSet", rendered(Form.JOBSET, asked)))["containers"]
    words = [word.replace("$(JOB_COMPLETION_INDEX)", str(index)) for word in container["command"]]
    assert words[:2] == ["reprieve-trainer", "launch"]
    ours = ("--window", "--nnodes", "--node-rank", "--master-addr", "--master-port")
    options = [word for word in words if word.partition("=")[0] in ours]
    here = {"--master-addr": "127.0.0.1", "--master-port": str(port)}
    names = [word.partition("=")[0] for word in options]
    assert names == list(ours)
    options = [
        f"{name}={here.get(name, word.partition('=')[2])}"
        for name, word in zip(names, options, strict=True)
    ]
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    return launch(tmp_path / f"pod_{index}", script, str(tmp_path), ranks=1, options=options)


@pytest.mark.slow
def test_both_pods_exit_75_when_the_kubelet_ends_the_first(tmp_path: Path) -> None:
    """Which is what the failure policies wait for; the pod that all meet at starts last."""
    (tmp_path / "log").mkdir()
    port = quiet_port()
    with pod(tmp_path, 1, port) as second, pod(tmp_path, 0, port) as first:
        wait_until(lambda: len(list((tmp_path / "log").iterdir())) == 2, "both ranks to train")
        first.process.send_signal(signal.SIGTERM)
        assert (first.wait(), second.wait()) == (75, 75), first.output + second.output
