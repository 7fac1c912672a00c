"""The DaemonSet's daemon and the JobSet's pods by their own command lines, without a cluster."""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency for one test

from tests.support.cloud import Node
from tests.support.image_root import ROOT
from tests.support.launching import EXECUTABLE, Launch, wait_until
from tests.support.ports import quiet_port

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

BASE = ROOT / "deploy" / "daemonset" / "base"
PODS = 2


def template() -> dict[str, Any]:
    """Return the one job that the shipped JobSet replicates."""
    jobset = yaml.safe_load((ROOT / "deploy" / "jobset" / "jobset.yaml").read_text())
    [job] = jobset["spec"]["replicatedJobs"]
    spec: dict[str, Any] = job["template"]["spec"]
    return spec


def daemonset_options(directory: Path, run_dir: Path) -> list[str]:
    """Return the container's arguments, its ConfigMap mounted, but for the API server's."""
    daemonset = yaml.safe_load((BASE / "daemonset.yaml").read_text())
    [container] = daemonset["spec"]["template"]["spec"]["containers"]
    mounted = directory / "etc"
    mounted.mkdir(parents=True)
    config = (BASE / "watcher.toml").read_text()
    (mounted / "watcher.toml").write_text(config.replace('"/run/reprieve"', f'"{run_dir}"'))
    verb, *options = container["args"]
    assert (verb, options[-1]) == ("run", "--node=$(NODE_NAME)")
    return [option.replace("/etc/reprieve", str(mounted)) for option in options[:-1]]


def start_pods(directory: Path, stack: ExitStack, run_dirs: list[Path]) -> list[Launch]:
    """Start the JobSet's pods, each on the node with that run directory, with one rank each."""
    [container] = template()["template"]["spec"]["containers"]
    port, pods = quiet_port(), []
    for index, run_dir in enumerate(run_dirs):
        own = directory / f"pod_{index}"
        own.mkdir(parents=True)
        smaller = {
            "reprieve-trainer": str(EXECUTABLE),
            "--report=/dev/termination-log": f"--report={own / 'report.json'}",
            "--nnodes=4": f"--nnodes={PODS}",
            "--node-rank=$(JOB_COMPLETION_INDEX)": f"--node-rank={index}",
            "--master-addr=run-7-workers-0-0.run-7": "--master-addr=127.0.0.1",
            "--master-port=29500": f"--master-port={port}",
            "--nproc-per-node=8": "--nproc-per-node=1",
            "train.py": str(ROOT / "examples" / "train_gpt.py"),
            "/checkpoints/run-7": str(directory.parent / "checkpoints"),
        }
        assert set(smaller) <= set(container["command"])
        command = [smaller.get(word, word) for word in container["command"]]
        command += ["--steps=60", "--save-every=10", "--min-step-s=0.2", "--batch-size=2"]
        command.append("--always-stop")
        [uid] = [one["name"] for one in container["env"]]
        environment = {uid: f"uid-{index}", "REPRIEVE_RUN_DIR": str(run_dir)}
        output = own / "output.txt"
        with output.open("wb") as file:
            process = subprocess.Popen(
                command,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
            )
        pod = Launch(process=process, report_path=own / "report.json", output_path=output)
        pods.append(stack.enter_context(pod))
    return pods


def test_pods_end_by_a_code_that_costs_no_restart_and_go_on_when_a_node_is_taken(
    tmp_path: Path,
) -> None:
    """One node has the notice, both pods exit with 75; started again, they end with 0."""
    one, other = tmp_path / "node_1", tmp_path / "node_2"
    options = daemonset_options(one, one / "run")
    with ExitStack() as stack, Node(directory=one, options=options) as node:
        pods = start_pods(tmp_path / "first", stack, [other / "run", node.run_dir])
        wait_until(lambda: "committed step=10" in pods[0].output, "a commit", 240)
        node.issue_notice()
        assert [pod.wait(240) for pod in pods] == [75, 75], [pod.output for pod in pods]
    rules = template()["podFailurePolicy"]["rules"]
    [preempted] = [rule for rule in rules if 75 in rule.get("onExitCodes", {}).get("values", [])]
    assert preempted["action"] == "FailJob"
    with ExitStack() as stack:
        pods = start_pods(tmp_path / "second", stack, [other / "run", tmp_path / "node_3" / "run"])
        assert [pod.wait(240) for pod in pods] == [0, 0], [pod.output for pod in pods]
        assert "RESUMED step=" in pods[0].output
