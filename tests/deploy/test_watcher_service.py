"""The watcher as a service of a booted systemd: frozen, killed and restarted during a notice."""

from collections.abc import Iterator

import pytest

from tests.support.bare_vm import BareVm
from tests.support.booted import machine
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(300)]

SERVICE = "reprieve-watcher.service"


@pytest.fixture(scope="module")
def vm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareVm]:
    """A machine whose watcher runs."""
    with machine(tmp_path_factory.mktemp("vm")) as booted:
        vm = BareVm(booted)
        vm.install()
        booted.boot()
        vm.wait_for_watcher()
        yield vm


def test_doctor_finds_nothing_wrong_when_it_is_asked_as_the_daemons_user(vm: BareVm) -> None:
    """What tmpfiles.d and the mounts have made is what the contract says."""
    asked = "runuser -u reprieve -- /opt/reprieve/bin/reprieve-watcher doctor"
    words = f"{asked} --config /etc/reprieve/watcher.toml; echo status $?"
    said = vm.machine.run("sh", "-c", words)
    assert said.splitlines()[-1] == "status 0", said
    assert "trainers/ in it: 1777; on a file system of its own, tmpfs" in said
    assert "requests/ in it: 1777; on a file system of its own, tmpfs" in said


def test_boot_has_an_order_when_everything_is_installed(vm: BareVm) -> None:
    """Mounts come after tmpfiles.d, and the watcher after both; nothing waits for itself."""
    assert "ordering cycle" not in vm.machine.run("journalctl", "-b", "--no-pager")
    for name in ("trainers", "requests"):
        assert vm.shown(f"run-reprieve-{name}.mount", "SubState") == "mounted"


def test_run_directory_can_not_be_filled_when_a_trainer_writes_without_end(vm: BareVm) -> None:
    """Its own small file system is full, and the flag still has room."""
    vm.machine.run("sh", "-c", "cat /dev/zero > /run/reprieve/trainers/big")
    size = vm.machine.run("stat", "-c", "%s", "/run/reprieve/trainers/big")
    vm.machine.run("rm", "/run/reprieve/trainers/big")
    assert 0 < int(size) <= 4 * 1024 * 1024


def test_notice_stays_in_force_when_the_daemon_is_frozen_killed_and_restarted(vm: BareVm) -> None:
    """A frozen daemon is killed by the watchdog; each time the flag and its reports stay."""
    vm.happens("notice", window_s=600)
    wait_until(lambda: vm.flag() is not None, 30)
    before = vm.flag()
    assert before is not None
    vm.machine.run("sh", "-c", "echo kept > /run/reprieve/trainers/mine")
    inode = vm.machine.run("stat", "-c", "%i", "/run/reprieve")

    vm.machine.run("systemctl", "kill", "--signal=STOP", SERVICE)
    vm.wait_for_watcher(restarts=1)
    assert "Watchdog timeout" in vm.log(SERVICE)
    vm.machine.run("systemctl", "kill", "--signal=KILL", SERVICE)
    vm.wait_for_watcher(restarts=2)
    vm.machine.run("systemctl", "restart", SERVICE)
    vm.wait_for_watcher(restarts=0)

    after = vm.flag()
    assert after is not None
    assert (after["id"], after["deadline"]) == (before["id"], before["deadline"])
    assert vm.machine.run("cat", "/run/reprieve/trainers/mine") == "kept\n"
    assert vm.machine.run("stat", "-c", "%i", "/run/reprieve") == inode
