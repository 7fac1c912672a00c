"""The Debian package on a booted systemd: installed, upgraded during a notice, removed, purged."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bare_vm import CLOUD, BareVm
from tests.support.booted import ROOT, machine, require_nspawn
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(1800)]

BUILD = ROOT / "deploy" / "debian" / "build.sh"

SIMULATOR = """\
[Service]
Environment=PYTHONPATH=/opt/source:/opt/packages
ExecStart=/usr/bin/python3 -m watcher simulate aws --quiet
"""

HERE = f"[Service]\nEnvironment=REPRIEVE_CLOUD=aws REPRIEVE_AWS_METADATA_ENDPOINT={CLOUD}\n"
"""Not in the settings file, so that it stays as the package brings it."""

OVER = "DEBIAN_FRONTEND=noninteractive dpkg -i"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it, which asks the package index as set-up does."""
    if shutil.which("dpkg-deb") is None or not Path("/usr/bin/python3.11").exists():
        pytest.skip("this is no Debian 12: there is no dpkg-deb, or no /usr/bin/python3.11")
    directory = tmp_path_factory.mktemp("deb")
    built = subprocess.run(
        [BUILD, directory],
        env=os.environ | {"PYTHON": sys.executable, "LINTIAN": "no"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (package,) = directory.glob("*.deb")
    return package


@pytest.fixture(scope="module")
def newer(package: Path) -> Path:
    """Return the same package with a higher version."""
    tree, newer = package.parent / "tree", package.parent / "newer.deb"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN" / "control"
    control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 99."))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, newer], check=True)
    return newer


@pytest.fixture(scope="module")
def vm(tmp_path_factory: pytest.TempPathFactory, package: Path, newer: Path) -> Iterator[BareVm]:
    """A machine in a simulated EC2, on which nothing of ours is installed."""
    require_nspawn()
    with machine(tmp_path_factory.mktemp("vm")) as booted:
        vm = BareVm(booted)
        shutil.copy(package, booted.root / "opt" / "this.deb")
        shutil.copy(newer, booted.root / "opt" / "newer.deb")
        # What images for containers have, so that packages start nothing while they are built.
        (booted.root / "usr/sbin/policy-rc.d").unlink(missing_ok=True)
        vm.unit("simulator.service", SIMULATOR)
        booted.write("etc/systemd/system/reprieve-watcher.service.d/here.conf", HERE)
        booted.boot()
        yield vm


def done(vm: BareVm, script: str) -> str:
    """Run a script that has to succeed."""
    status, said = vm.shell(script)
    assert status == 0, said
    return said


def test_package_carries_a_notice_over_an_upgrade_and_leaves_nothing_when_purged(
    vm: BareVm,
) -> None:
    """A person's settings stay until then; what is not understood changes nothing that runs."""
    done(vm, f"{OVER} /opt/this.deb")
    vm.wait_for_watcher()
    assert done(vm, "dpkg -V reprieve") == ""
    assert "reprieve" in done(vm, "reprieve-watcher --version")
    assert vm.shown("reprieve-watcher", "UnitFileState") == "enabled"
    assert vm.shown("system.slice", "MemoryLow") == str(128 * 2**20)
    assert done(vm, "stat -f -c %T /run/reprieve/trainers").strip() == "tmpfs"
    vm.happens("notice", window_s=600)
    wait_until(lambda: vm.flag() is not None, 60)
    before = vm.flag()
    done(vm, "echo '# mine' >> /etc/reprieve/watcher.toml")

    done(vm, f"{OVER} /opt/newer.deb")
    vm.wait_for_watcher()
    after = vm.flag()
    assert before is not None
    assert after is not None
    assert (after["id"], after["deadline"]) == (before["id"], before["deadline"])
    assert "# mine" in done(vm, "cat /etc/reprieve/watcher.toml")

    runs = vm.shown("reprieve-watcher", "MainPID")
    done(vm, "sed -i 's/# mine/nonsense = 1/' /etc/reprieve/watcher.toml")
    status, said = vm.shell("dpkg -i /opt/newer.deb")
    assert status != 0
    assert "what runs was left alone" in said
    assert vm.shown("reprieve-watcher", "MainPID") == runs
    done(vm, "sed -i '/nonsense/d' /etc/reprieve/watcher.toml; dpkg --configure reprieve")
    vm.wait_for_watcher()

    status, said = vm.shell("dpkg -r reprieve")
    assert status != 0
    assert "a notice is in force" in said
    vm.wait_for_watcher()
    done(vm, "systemctl stop reprieve-watcher && rm /run/reprieve/notice.json")
    done(vm, "dpkg -r reprieve")
    assert vm.shown("reprieve-watcher", "ActiveState") == "inactive"
    assert vm.shell("ls -d /opt/reprieve /usr/bin/reprieve-watcher 2>/dev/null")[1] == ""
    done(vm, "test -e /etc/reprieve/watcher.toml")
    done(vm, "dpkg -P reprieve")
    assert vm.shell("ls -d /etc/reprieve 2>/dev/null")[1] == ""
    links = "find /etc/systemd/system -name '*reprieve*' ! -path '*.service.d*'"
    assert done(vm, links) == ""


def test_package_has_no_bytecode_of_the_machine_it_was_built_on(package: Path) -> None:
    """pip runs what it has just installed, and that leaves none behind."""
    listed = subprocess.run(
        ["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True
    ).stdout
    assert "/opt/reprieve/lib/python3.11/site-packages/watcher/" in listed
    assert "__pycache__" not in listed


def test_package_refuses_when_install_sh_has_been_there(vm: BareVm) -> None:
    """Its units in /etc would hide the package's; the message says what takes them off."""
    done(vm, "ln -s /opt/reprieve-releases/one /opt/reprieve")
    status, said = vm.shell(f"{OVER} /opt/this.deb")
    assert status != 0
    assert "uninstall.sh" in said
