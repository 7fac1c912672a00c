"""Ports for servers that have to be told one before they listen."""

import random
import socket
from pathlib import Path

_FIRST = 10_000


def quiet_port() -> int:
    """Return a port nobody listens on, nor is given for a connection before it is used."""
    return quiet_ports(1)[0]


def quiet_ports(count: int) -> list[int]:
    """Return several of them.

    They lie below those that the system gives to whoever asks for any. One of those may be another
    process's by the time it is used; and who asks for it meanwhile, again and again, is given it
    now and then for his own end, and meets himself.
    """
    given = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    ports = list(range(_FIRST, int(given[0])))
    random.shuffle(ports)
    found = (port for port in ports if _is_free(port))
    return [next(found) for _ in range(count)]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
