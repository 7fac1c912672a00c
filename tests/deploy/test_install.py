"""install.sh and uninstall.sh on a booted systemd: install, upgrade during a notice, take off."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import wheels
from tests.support.bare_vm import CLOUD, FILES, BareVm
from tests.support.booted import machine
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(400)]

PYTHON = """\
#!/bin/sh
# A virtual environment in which the packages of this checkout are there, without a registry.
/usr/bin/python3 "$@" || exit
[ "${2-}" != venv ] || echo /opt/packages > "$3/lib/python3.11/site-packages/packages.pth"
"""

SIMULATOR = """\
[Service]
Environment=PYTHONPATH=/opt/source:/opt/packages
ExecStart=/usr/bin/python3 -m watcher simulate aws --quiet
"""


@pytest.fixture(scope="module")
def vm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareVm]:
    """A machine in a simulated EC2, on which nothing of ours is installed."""
    directory = tmp_path_factory.mktemp("wheels")
    good, bad = wheels.built(directory), wheels.that_does_not_start(directory)
    with machine(tmp_path_factory.mktemp("vm")) as booted:
        vm = BareVm(booted)
        shutil.copytree(FILES, booted.root / "opt/deploy")
        shutil.copy(good, booted.root / "opt")
        shutil.copy(bad, booted.root / "opt")
        booted.write("opt/python", PYTHON, 0o755)
        vm.unit("simulator.service", SIMULATOR)
        booted.boot()
        yield vm


def install(vm: BareVm, wheel: str = "reprieve-0*.whl") -> tuple[int, str]:
    """Run install.sh, and return its exit status and what it says."""
    pip = "PIP_NO_INDEX=1 PIP_NO_DEPS=1 PIP_FORCE_REINSTALL=1 PIP_NO_CACHE_DIR=1"
    return vm.shell(f"{pip} /opt/deploy/install.sh --python /opt/python --wheel /opt/{wheel}")


def test_watcher_runs_when_it_is_installed_and_a_notice_outlasts_an_upgrade(vm: BareVm) -> None:
    """Settings that are there stay; a version that does not start gives way to the one before."""
    settings = (FILES / "watcher.toml").read_text()
    where = f'\n[aws]\nmetadata_endpoint = "{CLOUD}"\n'
    vm.shell(f"mkdir -p /etc/reprieve; cat > /etc/reprieve/watcher.toml <<'E'\n{settings}{where}E")
    status, said = install(vm)
    assert status == 0, said
    vm.wait_for_watcher()
    assert vm.shown("system.slice", "MemoryLow") == str(128 * 2**20)
    vm.happens("notice", window_s=600)
    wait_until(lambda: vm.flag() is not None, 30)
    before, first = vm.flag(), vm.shell("readlink /opt/reprieve")

    status, said = install(vm)
    assert status == 0, said
    vm.wait_for_watcher()
    second = vm.shell("readlink /opt/reprieve")
    assert second != first
    after = vm.flag()
    assert before is not None
    assert after is not None
    assert (after["id"], after["deadline"]) == (before["id"], before["deadline"])

    status, said = install(vm, "reprieve-99.0-py3-none-any.whl")
    assert status == 1, (said, vm.log("reprieve-watcher"))
    assert "what ran before runs again" in said
    vm.wait_for_watcher()
    assert vm.shell("readlink /opt/reprieve") == second
    assert vm.flag() is not None

    vm.shell("echo 'nonsense = 1' >> /etc/reprieve/watcher.toml")
    status, said = install(vm)
    assert status == 78
    assert "nothing was changed" in said
    assert vm.shell("readlink /opt/reprieve") == second

    status, said = vm.shell("/opt/deploy/uninstall.sh")
    assert status == 78
    assert "--force" in said
    status, said = vm.shell("/opt/deploy/uninstall.sh --force")
    assert status == 0, said
    left = "ls -d /opt/reprieve* /etc/systemd/system/*reprieve* /run/reprieve/notice.json"
    assert vm.shell(f"{left} 2>/dev/null | grep -v whl")[1] == ""
    assert vm.shell("ls /etc/reprieve/watcher.toml /run/reprieve")[0] == 0


def test_files_are_there_and_gone_where_systemd_does_not_run(tmp_path: Path) -> None:
    """In a container, or an image that is being built: nothing is started, and that is said."""
    (tmp_path / "image").mkdir()
    with machine(tmp_path / "image") as image:
        shutil.copytree(FILES, image.root / "opt/deploy")
        shutil.copy(wheels.built(tmp_path), image.root / "opt")
        image.write("opt/python", PYTHON, 0o755)
        pip = "PIP_NO_INDEX=1 PIP_NO_DEPS=1 PIP_NO_CACHE_DIR=1"
        command = f"{pip} /opt/deploy/install.sh --python /opt/python --wheel /opt/reprieve-0*.whl"
        status, said = image.run_unbooted("sh", "-c", command)
        assert (status, "--no-start installs for the next boot" in said) == (78, True), said
        status, said = image.run_unbooted("sh", "-c", f"{command} --no-start")
        assert status == 0, said
        assert "to have it started at boot: systemctl enable" in said
        asked = "/opt/reprieve/bin/reprieve-watcher --version && systemctl enable reprieve-watcher"
        status, said = image.run_unbooted("sh", "-c", asked)
        assert (status, "reprieve-watcher 0." in said) == (0, True), said
        unit = image.root / "etc/systemd/system/reprieve-watcher.service"
        wanted = image.root / "etc/systemd/system/multi-user.target.wants/reprieve-watcher.service"
        assert unit.is_file()
        assert wanted.is_symlink()
        status, said = image.run_unbooted("/opt/deploy/uninstall.sh")
        assert (status, "the watcher is gone" in said) == (0, True), said
        assert not unit.exists()
        assert not wanted.is_symlink()
