"""A training job under reprieve-trainer@.service, on a booted systemd in a simulated Azure."""

import re
from collections.abc import Iterator

import pytest

from tests.support.bare_vm import FILES, BareVm
from tests.support.booted import machine
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(400)]

JOB = "reprieve-trainer@run-7.service"
BROKEN = "reprieve-trainer@broken.service"

ENVIRONMENT = """\
LAUNCHER=/opt/train/bin/reprieve-trainer
LAUNCH=--nproc-per-node=1 /opt/source/examples/train_gpt.py --checkpoint-dir run \
--steps 100000 --save-every 5 --min-step-s 0.05
OMP_NUM_THREADS=1
"""


@pytest.fixture(scope="module")
def vm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareVm]:
    """A machine on which watcher and job run."""
    with machine(tmp_path_factory.mktemp("vm")) as booted:
        vm = BareVm(booted)
        vm.install("azure")
        vm.program("train/bin/reprieve-trainer", "trainer_hooks")
        template = (FILES / "reprieve-trainer@.service").read_text()
        booted.write("etc/systemd/system/reprieve-trainer@.service", template)
        booted.write("etc/reprieve/trainers/run-7.env", ENVIRONMENT)
        missing = ENVIRONMENT.replace("--nproc-per-node=1", "--nproc-per-node=none")
        booted.write("etc/reprieve/trainers/broken.env", missing)
        booted.boot()
        # nspawn lays a boot id of its own over the kernel's, which the watcher's unit, with a /proc
        # of its own, does not see. No virtual machine has two.
        booted.run("umount", "/proc/sys/kernel/random/boot_id")
        vm.wait_for_watcher()
        yield vm


def steps(vm: BareVm) -> list[int]:
    """Return the steps that the job has committed, by its log."""
    return [int(found) for found in re.findall(r" committed step=(\d+)", vm.log(JOB))]


def test_job_waits_for_the_end_of_the_notice_and_goes_on_where_it_was(vm: BareVm) -> None:
    """It commits, exits with 75, waits without PyTorch while the flag is there, and resumes."""
    vm.machine.run("systemctl", "start", JOB)
    wait_until(lambda: steps(vm), 120)
    vm.happens("event")
    wait_until(lambda: "waiting for its end" in vm.log(JOB), 120)
    before, starts = steps(vm), vm.shown(JOB, "NRestarts")
    assert (vm.shown(JOB, "SubState"), starts) == ("running", "1")
    main = vm.shown(JOB, "MainPID")
    assert "torch" not in vm.shell(f"grep -o 'libtorch[^ ]*' /proc/{main}/maps")[1]
    [said] = re.findall(r"exit code 75: ranks stopped at step (\d+)", vm.log(JOB))
    assert before[-1] == int(said)
    vm.happens("event_end")
    wait_until(lambda: len(steps(vm)) > len(before), 180)
    assert (vm.shown(JOB, "NRestarts"), vm.shown(JOB, "MainPID")) == (starts, main)
    assert steps(vm)[len(before)] == before[-1] + 5 - before[-1] % 5  # --save-every 5
    vm.machine.run("systemctl", "stop", JOB)
    *_, ended = re.findall(r"exit code (\d+): ranks stopped at step (\d+)", vm.log(JOB))
    assert ended == ("75", str(steps(vm)[-1]))
    assert (vm.shown(JOB, "Result"), vm.shown(JOB, "SubState")) == ("success", "dead")
    state = "/var/lib/reprieve-trainer/run-7/run"
    assert vm.machine.run("stat", "-c", "%U", state) == "reprieve-trainer\n"


def test_job_is_not_started_again_when_its_set_up_is_wrong(vm: BareVm) -> None:
    """78 is for a person, and no number of starts mends it."""
    vm.machine.run("systemctl", "start", BROKEN)
    wait_until(lambda: vm.shown(BROKEN, "SubState") == "failed", 60)
    assert vm.shown(BROKEN, "ExecMainStatus") == "78"
    assert vm.shown(BROKEN, "NRestarts") == "0"
