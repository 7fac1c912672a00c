"""``reprieve-trainer manifest``: what the options make of a manifest."""

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency

from tests.support.manifests import request
from trainer_hooks.cli import run
from trainer_hooks.manifest.render import Form, render

JOB = ["--name", "run-7", "--nodes", "4"]
IMAGE = ["--image", "ghcr.io/me/train:1"]
SCRIPT = ["--", "train.py", "--checkpoint-dir", "/checkpoints/run-7"]


@pytest.mark.parametrize("form", [Form.JOBSET, Form.JOB, Form.CLUSTER])
def test_manifest_is_printed_when_it_is_asked_for(
    form: Form, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ready for kubectl; the script's own options are not ours."""
    arguments = [form.value, *JOB, *IMAGE, "--cloud=eks", "--queue=training", *SCRIPT]
    assert run(["manifest", *arguments]) == 0
    assert capsys.readouterr().out == render(form, request("eks", queue="training"))


def test_batch_script_is_printed_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """It needs no image."""
    assert run(["manifest", "slurm", *JOB, "--window=120", *SCRIPT]) == 0
    assert capsys.readouterr().out == render(Form.SLURM, request("other", window_s=120))


def test_options_reach_the_manifest_when_they_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    """Each of them, to the field that it is for."""
    options = [
        *("--namespace=ml", "--claim=shared", "--mount=/mnt/run", "--gpus=4", "--window=90"),
        *("--gpu-resource=amd.com/gpu", "--max-crashes=2", "--cloud=karpenter"),
    ]
    assert run(["manifest", "job", *JOB, *IMAGE, *options, *SCRIPT]) == 0
    service, job = yaml.safe_load_all(capsys.readouterr().out)
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert service["metadata"]["namespace"] == job["metadata"]["namespace"] == "ml"
    assert job["spec"]["backoffLimit"] == 2
    assert pod["terminationGracePeriodSeconds"] == 90
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "shared"}
    assert container["volumeMounts"][0]["mountPath"] == "/mnt/run"
    assert container["resources"]["limits"] == {"amd.com/gpu": 4}
    assert "--nproc-per-node=4" in container["command"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["jobset", *JOB, *SCRIPT],
        ["jobset", *JOB, *IMAGE],
        ["jobset", *JOB, *IMAGE, "--cloud=gcp", *SCRIPT],
        ["jobset", "--name=Run 7", *IMAGE, *SCRIPT],
        ["slurm", *JOB, *IMAGE, *SCRIPT],
        ["cluster", *JOB, *IMAGE, *SCRIPT],
        ["helm", *JOB, *SCRIPT],
    ],
)
def test_command_line_is_refused_when_it_makes_no_sense(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With 78, and nothing on standard output that somebody might apply."""
    assert run(["manifest", *arguments]) == 78
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err
