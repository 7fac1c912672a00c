"""Two machines on one network, as network namespaces; one of them can vanish without a word."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

INTERFACE = "rp0"
"""The name of the one network interface, in each of them."""


@dataclass(frozen=True)
class Machine:
    """One of the two."""

    name: str
    address: str

    @property
    def inside(self) -> list[str]:
        """What a command is run by to be run there."""
        return ["ip", "netns", "exec", self.name]

    def vanish(self) -> None:
        """Take its network away: what its processes and its kernel say comes nowhere."""
        _ip("-n", self.name, "link", "set", INTERFACE, "down")


@contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Make them for the block; skip the test where nobody may."""
    names = [f"reprieve-{os.getpid()}-{number}" for number in range(2)]
    machines = [Machine(name, f"10.77.0.{number + 1}") for number, name in enumerate(names)]
    made: list[str] = []
    try:
        for name in names:
            try:
                _ip("netns", "add", name)
            except FileNotFoundError:
                pytest.skip("this machine has no ip command")
            except subprocess.CalledProcessError as error:
                pytest.skip(f"no right to make a network namespace: {error.stderr.decode()}")
            made.append(name)
        peer = ("peer", "name", INTERFACE, "netns", names[1])
        _ip("-n", names[0], "link", "add", INTERFACE, "type", "veth", *peer)
        for machine in machines:
            _ip("-n", machine.name, "address", "add", f"{machine.address}/24", "dev", INTERFACE)
            _ip("-n", machine.name, "link", "set", INTERFACE, "up")
            _ip("-n", machine.name, "link", "set", "lo", "up")
        yield machines[0], machines[1]
    finally:
        for name in made:
            _ip("netns", "delete", name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)
