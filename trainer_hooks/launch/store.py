"""``reprieve-trainer store``: a bare Store, for a rendezvous that outlives any of its nodes."""

import signal
import socket
from collections.abc import Callable

import torch.distributed as dist

from trainer_hooks.errors import ConfigError

_ENDS = (signal.SIGTERM, signal.SIGINT)


def serve_store(host: str, port: int, *, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. Call it from the main thread.

    Args:
        host: An IP address of this machine; the Store listens there and nowhere else.
        port: 0 takes any that is free.
        announce: Called with ``ADDRESS:PORT`` once it can be reached there.

    Raises:
        ConfigError: It is no address of this machine, or the port is taken or forbidden.
    """
    # Blocked, and not handled: the Store's own threads must not take them, and one that comes
    # before the Store is ready is not lost, not even by the first process of a container.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    with _bound(host, port) as listener:
        port = listener.getsockname()[1]
        # By descriptor: given an address alone, the Store listens on all that this machine has.
        store = dist.TCPStore(
            host, port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
        )
    announce(_shown(host, port))
    signal.sigwait(_ENDS)
    del store  # kept alive until here


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        where = _shown(host, port)
        raise ConfigError(f"the store cannot listen on {where}: {error.strerror}") from error
    return listener


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
