"""`systemctl poweroff` on a booted systemd, with the files of deploy/systemd and a trainer."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.booted import ROOT, Booted, machine
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(300)]

FILES = ROOT / "deploy" / "systemd"

POLKIT = (
    "usr/lib/systemd/system/polkit.service",
    "usr/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service",
)
"""Without these nobody starts it."""

LAUNCHER = """\
#!/bin/sh
# Not the checkout's own interpreter, which may be in a home directory that the unit can't see.
export PYTHONPATH=/opt/source:/opt/packages PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 -m watcher "$@"
"""

TRAINER = """\
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("trainer got SIGTERM", flush=True))
print("trainer runs", flush=True)
while not os.path.exists("/run/reprieve/notice.json"):
    time.sleep(0.01)
print("trainer saw the flag", open("/run/reprieve/notice.json").read(), flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    time.sleep(0.05)
print("trainer saved", flush=True)
sys.exit(75)
"""

UNIT = """\
[Unit]
After=reprieve-watcher.service
[Service]
ExecStart=/usr/bin/python3 /opt/trainer.py {save_s}
"""


@dataclass
class Node:
    """A booted machine on which the watcher and a trainer run."""

    machine: Booted

    def start(
        self, *, save_s: float, with_polkit: bool, with_drop_in: bool, ready: str | None = None
    ) -> None:
        """Install as deploy/systemd/README.md says, boot, and wait for both."""
        write = self.machine.write
        for name, target in {
            "reprieve-watcher.service": "etc/systemd/system/reprieve-watcher.service",
            "sysusers.conf": "etc/sysusers.d/reprieve.conf",
            "tmpfiles.conf": "etc/tmpfiles.d/reprieve.conf",
        }.items():
            write(target, (FILES / name).read_text())
        settings = (FILES / "watcher.toml").read_text().replace('"auto"', '"none"')
        write("etc/reprieve/watcher.toml", settings + '\n[logind]\nwatch = "on"\n')
        if with_drop_in:
            drop_in = FILES / "logind.conf.d" / "reprieve.conf"
            write("etc/systemd/logind.conf.d/reprieve.conf", drop_in.read_text())
        write("opt/reprieve/bin/reprieve-watcher", LAUNCHER, 0o755)
        write("opt/trainer.py", TRAINER)
        write("etc/systemd/system/trainer.service", UNIT.format(save_s=save_s))
        if not with_polkit:
            self.machine.remove(*POLKIT)
        self.machine.enable("reprieve-watcher.service")
        self.machine.enable("trainer.service")
        self.machine.boot()
        ready = ready or ("inhibitor held" if with_polkit else "no inhibitor")
        wait_until(lambda: ready in self.log(), 60)
        wait_until(lambda: "trainer runs" in self.log(), 60)

    def log(self) -> str:
        """Return what both have logged so far."""
        return self.machine.run(
            "journalctl", "-u", "reprieve-watcher", "-u", "trainer", "-o", "cat"
        )

    def order(self, *words: str) -> list[str]:
        """Return these words in the order in which they were first said, as the journal has it."""
        found: dict[str, float] = {}
        for entry in self.machine.journal():
            message = str(entry.get("MESSAGE"))
            for word in words:
                if word in message:
                    found.setdefault(word, said_at(message, entry))
        return sorted(found, key=lambda word: found[word])


def said_at(message: str, entry: Mapping[str, str]) -> float:
    """Return the time that a line names as its own, else when it came to the journal.

    The watcher hands its lines over a moment later, so that none of them holds up a flag.
    """
    own = re.match(r"\d{4}-\d\d-\d\dT[0-9:.]+Z(?= )", message)
    if own is not None:
        return datetime.fromisoformat(own[0]).timestamp()
    return int(entry["__REALTIME_TIMESTAMP"]) / 1e6


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A machine to install on."""
    with machine(tmp_path) as booted:
        yield Node(booted)


@pytest.mark.parametrize(("save_s", "with_drop_in"), [(3, False), (10, True)])
def test_shutdown_waits_for_the_trainer_when_the_watcher_holds_a_lock(
    node: Node, save_s: float, *, with_drop_in: bool
) -> None:
    """3 s fit into logind's own 5, and 10 into the shipped drop-in; SIGTERM comes after all."""
    node.start(save_s=save_s, with_polkit=True, with_drop_in=with_drop_in)
    assert node.machine.power_off() == 0
    order = (
        "notice admitted",
        "trainer saw the flag",
        "trainer saved",
        "status=75",
        "inhibitor released",
        "stopping",
        "stopped",
    )
    assert node.order(*order, "trainer got SIGTERM", "no inhibitor") == list(order)
    written = ["action done action=flag_file", "trainer saved"]  # told after the trainer may see it
    assert node.order(*written) == written


def test_shutdown_is_told_all_the_same_when_there_is_no_polkit(node: Node) -> None:
    """Nothing is delayed: the flag comes with systemd's SIGTERM, whose own time then counts."""
    node.start(save_s=3, with_polkit=False, with_drop_in=False)
    assert "AccessDenied" in node.log()
    assert "polkitd has to run" in node.log()
    asked = ("doctor", "--config", "/etc/reprieve/watcher.toml")
    program = "/opt/reprieve/bin/reprieve-watcher"
    said = node.machine.run("runuser", "-u", "reprieve", "--", program, *asked)
    assert "wrong   right to hold a shutdown back: AccessDenied" in said
    assert "apt install polkitd" in said
    assert node.machine.power_off() == 0
    order = (
        "no inhibitor",
        "notice admitted",
        "trainer saw the flag",
        "trainer saved",
        "status=75",
    )
    assert node.order(*order, "inhibitor held") == list(order)


def test_shutdown_is_held_back_without_polkit_when_the_watcher_is_root(node: Node) -> None:
    """As the drop-in for such machines has it; logind asks nobody about root."""
    drop_in = FILES / "reprieve-watcher.service.d" / "root.conf"
    target = "etc/systemd/system/reprieve-watcher.service.d/root.conf"
    node.machine.write(target, drop_in.read_text())
    node.start(save_s=3, with_polkit=False, with_drop_in=False, ready="inhibitor held")
    assert node.machine.power_off() == 0
    order = ("notice admitted", "trainer saw the flag", "trainer saved", "inhibitor released")
    assert node.order(*order, "no inhibitor") == list(order)
