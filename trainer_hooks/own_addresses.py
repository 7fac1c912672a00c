"""How other machines may reach this one, where nobody has said so.

``MASTER_ADDR`` need not be an address of ours, or of anything: a launcher may have met in another
way. Which of the addresses found here serves is for the others to try.
"""

import ipaddress
import os
import socket
from collections.abc import Iterator

_FAR_AWAY = ("192.0.2.1", "2001:db8::1")
"""Beyond every network of ours: the addresses that RFC 5737 and RFC 3849 keep for examples."""


def own_addresses() -> Iterator[str]:
    """Yield addresses and names of this machine, the likeliest first; some more than once."""
    master = os.environ.get("MASTER_ADDR") or "localhost"
    towards_master = [*_sources(master)]
    yield from (host for host in towards_master if not ipaddress.ip_address(host).is_loopback)
    yield master
    for far in _FAR_AWAY:
        yield from _sources(far)
    yield socket.gethostname()
    yield from towards_master


def _sources(host: str) -> Iterator[str]:
    """Yield the addresses of this machine from which it reaches another."""
    try:
        found = socket.getaddrinfo(host, 1, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):  # the latter for what cannot be a name at all
        return
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(address)  # sends nothing, and says from which address it would
                own = str(probe.getsockname()[0])
        except OSError:
            continue
        yield own.partition("%")[0]
