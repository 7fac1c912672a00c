"""A virtual machine without Kubernetes: a booted systemd with deploy/systemd on it, and a cloud."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tests.support.booted import ROOT, Booted
from tests.support.waiting import wait_until

FILES = ROOT / "deploy" / "systemd"
FLAG = "/run/reprieve/notice.json"
CLOUD = "http://127.0.0.1:1338"

TARGETS = {
    "reprieve-watcher.service": "etc/systemd/system",
    "run-reprieve-trainers.mount": "etc/systemd/system",
    "run-reprieve-requests.mount": "etc/systemd/system",
}
"""Where the units go, as deploy/systemd/README.md says."""

LAUNCHER = """\
#!/bin/sh
# Not the checkout's own interpreter, which may be in a home directory that the unit can't see.
export PYTHONPATH=/opt/source:/opt/packages PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 -c 'import sys; from {package}.cli import main; sys.exit(main())' "$@"
"""

SIMULATOR = """\
[Unit]
Before=reprieve-watcher.service
[Service]
ExecStart=/opt/reprieve/bin/reprieve-watcher simulate {cloud} --quiet
"""


@dataclass
class BareVm:
    """What a person sees and does on the machine, as root."""

    machine: Booted

    def install(self, cloud: str = "aws") -> None:
        """Put the watcher on it as the README says, with a simulator for its cloud."""
        for name, folder in TARGETS.items():
            self.machine.write(f"{folder}/{name}", (FILES / name).read_text())
            self.machine.enable(name)
        for name in ("sysusers", "tmpfiles"):
            text = (FILES / f"{name}.conf").read_text()
            self.machine.write(f"etc/{name}.d/reprieve.conf", text)
        settings = (FILES / "watcher.toml").read_text()
        where = f'\n[{cloud}]\nmetadata_endpoint = "{CLOUD}"\n'
        self.machine.write("etc/reprieve/watcher.toml", settings + where)
        self.program("reprieve/bin/reprieve-watcher", "watcher")
        self.unit("simulator.service", SIMULATOR.format(cloud=cloud))

    def program(self, path: str, package: str) -> None:
        """Put a console script under /opt that runs a package of this checkout."""
        self.machine.write(f"opt/{path}", LAUNCHER.format(package=package), 0o755)

    def unit(self, name: str, text: str) -> None:
        """Write a unit that is started at boot."""
        self.machine.write(f"etc/systemd/system/{name}", text)
        self.machine.enable(name)

    def shell(self, script: str) -> tuple[int, str]:
        """Run a script as root, and return its exit status and all that it says."""
        said = self.machine.run("sh", "-c", f"{{ {script}\n}} 2>&1; code=$?; echo; echo $code")
        text, _, status = said.rstrip("\n").rpartition("\n")
        return int(status), text.removesuffix("\n")

    def shown(self, unit: str, key: str) -> str:
        """Return a property of a unit's."""
        return self.machine.run("systemctl", "show", "--value", f"--property={key}", unit).strip()

    def log(self, unit: str) -> str:
        """Return what a unit has logged."""
        return self.machine.run("journalctl", "-u", unit, "-o", "cat", "--no-pager")

    def happens(self, word: str, method: str = "POST", **fields: object) -> None:
        """Make something happen in the cloud."""
        asked = ["curl", "-sS", "--fail-with-body", "-X", method, f"{CLOUD}/simulator/{word}"]
        said = self.machine.run(
            *asked, "-H", "Content-Type: application/json", "-d", json.dumps(fields)
        )
        assert "error" not in said, said

    def flag(self) -> Mapping[str, object] | None:
        """Return what is in force by the flag file; None where there is none."""
        text = self.machine.run("sh", "-c", f"cat {FLAG} 2>/dev/null")
        return json.loads(text) if text else None

    def watcher_is_ready(self, *, restarts: int) -> bool:
        """Tell whether the watcher runs, after so many restarts by systemd."""
        has = (self.shown("reprieve-watcher", key) for key in ("SubState", "NRestarts"))
        return tuple(has) == ("running", str(restarts))

    def wait_for_watcher(self, *, restarts: int = 0) -> None:
        """Wait until it is there."""
        wait_until(lambda: self.watcher_is_ready(restarts=restarts), 60)
