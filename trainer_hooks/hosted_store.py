"""A TCPStore in one rank's process, where the one on which all have met is not enough for us."""

import logging
import secrets
import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from trainer_hooks.own_addresses import own_addresses

log = logging.getLogger(__name__)

CONNECT_S = 10.0
"""How long one address of the host's is tried, in seconds."""

_MARK = "reprieve/mark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What the others need to know to come to a Store."""

    hosts: tuple[str, ...]
    """How its machine may be reached, the likeliest first."""
    port: int
    mark: str
    """Drawn at random: where it is found, there is this Store and no other."""


def serves_many(store: Any) -> bool:  # noqa: ANN401 - torch's stubs know no underlying_store
    """Tell whether a Store can be cloned, and says in c10d's words that a wait was in vain.

    A FileStore has other words for it, and looks for news hundreds of times a second; one that is
    written in Python cannot be cloned.
    """
    while isinstance(store, dist.PrefixStore):
        inner: Any = store
        store = inner.underlying_store
    return isinstance(store, dist.TCPStore | dist.HashStore)


def host_store() -> tuple[Any, Where]:
    """Serve a Store on all addresses of this machine; it lives as long as what is returned.

    Raises:
        DistNetworkError: This process cannot serve.
    """
    within = timedelta(seconds=CONNECT_S)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=within)
    mark = secrets.token_hex(16)
    store.set(_MARK, mark)
    hosts = tuple(dict.fromkeys(own_addresses()))
    return store, Where(hosts=hosts, port=store.port, mark=mark)


def join_store(where: Where) -> Any:  # noqa: ANN401 - as above
    """Return a connection to a Store that another rank serves.

    Raises:
        DistNetworkError: None of its addresses leads to it.
    """
    failures = []
    for host in where.hosts:
        try:
            # TCPStore would try a name that nobody knows for as long as one that is slow.
            socket.create_connection((host, where.port), CONNECT_S).close()
            store = dist.TCPStore(
                host, where.port, is_master=False, timeout=timedelta(seconds=CONNECT_S)
            )
            if store.get(_MARK) == where.mark.encode():
                return store
            failures.append(f"{host}: somebody else's")
        except (OSError, UnicodeError, dist.DistError) as error:
            failures.append(f"{host}: {str(error).partition(chr(10))[0]}")
    raise dist.DistNetworkError(f"rank 0's Store is not reached ({'; '.join(failures)})")
