"""A machine that systemd has really booted: this one's files, in a container of their own.

Its root is an overlay over ours, so that everything it writes is gone afterwards. It has no network
but a loopback of its own.
"""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]

_MASKED = (
    *("apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_all.timer", "fstrim.timer"),
    *("systemd-networkd.service", "systemd-resolved.service", "getty@.service"),
)
_UNITS = "etc/systemd/system"
_SOURCE = ("watcher", "trainer_hooks", "examples")


def require_nspawn() -> None:
    """Skip the test where no machine can be booted."""
    if shutil.which("systemd-nspawn") is None:
        pytest.skip("this machine has no systemd-nspawn (apt install systemd-container)")
    if os.geteuid() != 0:
        pytest.skip("only root can boot a container")


@dataclass
class Booted:
    """A machine: its files under ``root``, and what it runs."""

    root: Path
    _nspawn: "subprocess.Popen[bytes] | None" = None

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file of the machine's, before it is booted."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def mask(self, unit: str) -> None:
        """Keep a unit from ever being started."""
        target = self.root / _UNITS / unit
        target.unlink(missing_ok=True)
        target.symlink_to("/dev/null")

    def remove(self, *paths: str) -> None:
        """Take files away, as if what they belong to were not installed."""
        for path in paths:
            (self.root / path).unlink()

    def enable(self, unit: str) -> None:
        """Have a unit started at boot."""
        wants = self.root / _UNITS / "multi-user.target.wants"
        wants.mkdir(exist_ok=True)
        (wants / unit).symlink_to(f"/{_UNITS}/{unit}")

    def boot(self) -> None:
        """Boot it, and wait until its manager has started what it was to start."""
        command = [
            *("setpriv", "--pdeathsig=TERM"),  # who tests may be killed: then it powers off
            *("systemd-nspawn", "--boot", "--register=no", "--keep-unit", "--quiet"),
            *("--private-network", "--console=pipe", f"--directory={self.root}"),
            *(f"--bind-ro={source}:{target}" for source, target in self.binds()),
        ]
        with (self.root.parent / "console").open("wb") as console:
            self._nspawn = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT
            )
        wait_until(self._is_up, 60)

    @staticmethod
    def binds() -> list[tuple[Path, str]]:
        """List what of this checkout the machine sees, where no home directory hides it."""
        import aiohttp  # noqa: PLC0415 - only where its packages are is asked

        packages = Path(aiohttp.__file__).parents[1]
        source = [(ROOT / name, f"/opt/source/{name}") for name in _SOURCE]
        return [(packages, "/opt/packages"), *source]

    def run_unbooted(self, *command: str) -> tuple[int, str]:
        """Run a command in it as in a container, or an image that is built: nothing is booted."""
        done = subprocess.run(
            [
                *("systemd-nspawn", "--register=no", "--keep-unit", "--quiet", "--pipe"),
                *("--as-pid2", "--private-network", f"--directory={self.root}"),
                *(f"--bind-ro={source}:{target}" for source, target in self.binds()),
                *command,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode, done.stdout

    def run(self, *command: str) -> str:
        """Run a command in it."""
        done = subprocess.run(
            ["nsenter", f"--target={self.leader}", "--all", *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        return done.stdout + done.stderr

    def power_off(self) -> int:
        """Do as a person does who types poweroff, and return how it went down."""
        assert self._nspawn is not None
        self.run("systemctl", "poweroff", "--no-block")
        return self._nspawn.wait(timeout=120)

    def journal(self) -> list[dict[str, str]]:
        """Return its journal, the oldest entry first."""
        read = subprocess.run(
            ["journalctl", "-D", str(self.root / "var/log/journal"), "-o", "json", "--no-pager"],
            capture_output=True,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in read.stdout.splitlines()]

    def kill(self) -> None:
        """End it whatever it does."""
        if self._nspawn is not None and self._nspawn.poll() is None:
            # The machine is its first process, which would outlive nspawn.
            with suppress(IndexError, ProcessLookupError, FileNotFoundError):
                os.kill(self.leader, signal.SIGKILL)
            try:
                self._nspawn.wait(timeout=10)
            except subprocess.TimeoutExpired:  # it was not that far yet
                self._nspawn.kill()
                self._nspawn.wait(timeout=60)

    @property
    def leader(self) -> int:
        """Its first process, seen from here."""
        assert self._nspawn is not None
        children = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text()
        return int(children.split()[0])

    def _is_up(self) -> bool:
        assert self._nspawn is not None
        assert self._nspawn.poll() is None, (self.root.parent / "console").read_text()
        try:
            return self.run("systemctl", "is-system-running").strip() in ("running", "degraded")
        except (IndexError, ProcessLookupError, FileNotFoundError):
            return False


@contextmanager
def machine(directory: Path) -> Iterator[Booted]:
    """Give a machine that is still off; whatever happens, nothing of it stays mounted."""
    require_nspawn()
    disk, root = directory / "disk", directory / "machine" / "root"
    disk.mkdir()
    root.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=True)
    try:
        for name in ("upper", "work"):
            (disk / name).mkdir()
        layers = f"lowerdir=/,upperdir={disk / 'upper'},workdir={disk / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, root], check=True)
        booted = Booted(root)
        try:
            _blank(booted)
            yield booted
        finally:
            booted.kill()
            subprocess.run(["umount", "--lazy", root], check=False)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=False)


def _blank(booted: Booted) -> None:
    """Take from the machine what is this one's own."""
    booted.write("etc/machine-id", "")
    (booted.root / "var/log/journal").mkdir(parents=True, exist_ok=True)
    for wants in (booted.root / _UNITS).glob("*.wants"):
        shutil.rmtree(wants)
    for unit in _MASKED:
        booted.mask(unit)
