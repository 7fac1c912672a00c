"""The batch script for Slurm: which exit code requeues the job, and whom a signal reaches."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.manifests import request
from tests.support.slurm import Slurm
from tests.support.waiting import wait_until
from trainer_hooks.errors import ConfigError
from trainer_hooks.manifest.render import Form, render

pytestmark = pytest.mark.e2e

BATCH = Path(__file__).parents[2] / "deploy" / "slurm" / "train.sh"

REQUEUE = "requeue 4711"


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Slurm]:
    slurm = Slurm.at(tmp_path)
    yield slurm
    slurm.close()


def test_file_is_what_the_command_prints_when_it_is_shipped() -> None:
    """What people read in deploy/ and what they get are the same."""
    assert BATCH.read_text() == render(Form.SLURM, request("other", window_s=120))


@pytest.mark.parametrize("code", [75, 76])
def test_job_is_requeued_once_when_it_was_preempted(slurm: Slurm, code: int) -> None:
    """Or has lost a peer; the code stays what it was."""
    batch = slurm.start(BATCH.read_text(), TRAINER_EXITS=str(code))
    output, _ = batch.communicate(timeout=30)
    assert batch.returncode == code, output
    assert slurm.noted("scontrol").count(REQUEUE) == 1


@pytest.mark.parametrize("code", [0, 1, 78, 79, 137])
def test_job_is_not_requeued_when_it_is_done_or_has_crashed(slurm: Slurm, code: int) -> None:
    """A crash is for people to look at; the code stays what it was."""
    batch = slurm.start(BATCH.read_text(), TRAINER_EXITS=str(code))
    output, _ = batch.communicate(timeout=30)
    assert batch.returncode == code, output
    assert REQUEUE not in slurm.noted("scontrol")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2])
@pytest.mark.parametrize("times", [1, 2])
def test_step_is_told_when_the_batch_script_gets_a_signal(
    slurm: Slurm, number: signal.Signals, times: int
) -> None:
    """The script lives on until the step has saved and ended, and then requeues the job."""
    batch = slurm.start(BATCH.read_text())
    wait_until(lambda: slurm.noted("trainer") and (slurm.directory / "started").exists())
    for _ in range(times):
        batch.send_signal(number)
    output, _ = batch.communicate(timeout=30)
    assert batch.returncode == 75, output
    assert slurm.noted("signals")
    assert slurm.noted("scontrol").count(REQUEUE) == 1


def test_code_stands_when_the_job_cannot_be_requeued(slurm: Slurm) -> None:
    """It was cancelled meanwhile, say; the last line of the output says so."""
    batch = slurm.start(BATCH.read_text(), TRAINER_EXITS="75", REQUEUE_FAILS="1")
    output, _ = batch.communicate(timeout=30)
    assert batch.returncode == 75
    assert "not requeued" in output.splitlines()[-1]


def test_step_meets_at_the_first_node_when_it_starts(slurm: Slurm) -> None:
    """One launcher a node, which no other's end may kill, and the script's words as they are."""
    script = ("train.py", "--note", 'it\'s $(hostname) "here"', "--checkpoint-dir=/shared/run-7")
    batch = slurm.start(
        render(Form.SLURM, request("other", window_s=120, script=script)), TRAINER_EXITS="0"
    )
    batch.communicate(timeout=30)
    assert slurm.noted("trainer") == [
        "launch",
        "--window=120",
        "--nnodes=4",
        "--nproc-per-node=8",
        "--node-rank=0",
        "--master-addr=node-a",
        "--master-port=29500",
        *script,
    ]
    assert slurm.noted("srun") == ["--kill-on-bad-exit=0"]


def test_options_come_first_when_sbatch_reads_the_script() -> None:
    """It stops at the first line that is no comment."""
    head = BATCH.read_text().partition("\nset -u")[0]
    options = re.findall(r"^#SBATCH (\S+)$", head, re.MULTILINE)
    assert options == [
        "--job-name=run-7",
        "--nodes=4",
        "--ntasks-per-node=1",
        "--gpus-per-node=8",
        "--requeue",
        "--open-mode=append",
        "--signal=TERM@120",
    ]
    assert "#SBATCH" not in BATCH.read_text()[len(head) :]


def test_queue_is_refused_when_the_scheduler_is_slurm() -> None:
    """Kueue's word; nobody would hear it."""
    with pytest.raises(ConfigError, match="Kueue"):
        render(Form.SLURM, request("other", queue="training"))
