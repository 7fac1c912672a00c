"""Whether torchrun is still built as our hooks take it: asked before an elastic job starts.

A hook that is never called would be found out when the first node is taken, and end the job.
"""

import inspect
import time
from typing import Any

import torch
from torch.distributed import HashStore
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.rendezvous import dynamic_rendezvous as torchs
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.launcher import api

from trainer_hooks.errors import ConfigError
from trainer_hooks.launch.rendezvous import Membership, begin_anew

_METHODS = {
    "_monitor_workers": ["self", "worker_group"],
    "_restart_workers": ["self", "worker_group"],
    "_start_workers": ["self", "worker_group"],
    "_stop_workers": ["self", "worker_group"],
    "_rendezvous": ["self", "worker_group"],
    "_shutdown": ["self", "death_sig", "timeout"],
}
"""What our agent overrides, and how it is called."""

_LOOP = {"_monitor_workers", "_remaining_restarts", "_restart_workers", "num_nodes_waiting"}
"""What the loop of torchrun's agent turns on."""

_LAUNCH = {"LocalElasticAgent", "SignalException", "shutdown"}
"""What decides whether the rendezvous stays open for the others."""


def check_fit() -> None:
    """See that an elastic job would go on here as we mean it to.

    Raises:
        ConfigError: torchrun is built otherwise by now.
    """
    missing = [
        f"{name}({', '.join(wanted)})"
        for name, wanted in _METHODS.items()
        if _parameters(getattr(LocalElasticAgent, name, None)) != wanted
    ]
    missing += sorted(_LOOP - _names(LocalElasticAgent, "_invoke_run"))
    missing += sorted(_LAUNCH - _names(api, "launch_agent"))
    try:
        _rehearse()
    except Exception as error:  # noqa: BLE001 - whatever it is, it would be so in earnest
        missing.append(f"the rendezvous ({error!r})")
    if missing:
        raise ConfigError(
            f"torchrun of PyTorch {torch.__version__} is not the one that --nnodes=MIN:MAX is made "
            f"for here (2.13): {'; '.join(missing)}. Give one number of nodes, or use that version"
        )


def _rehearse() -> None:
    """Join a rendezvous in memory, leave it, and begin it anew when it was closed."""
    store: Any = HashStore()
    backend = C10dRendezvousBackend(store, "rehearsal")
    made: Any = torchs.DynamicRendezvousHandler.from_backend
    handler = made("rehearsal", store, backend, min_nodes=1, max_nodes=1)
    join = torchs._RendezvousJoinOp()  # noqa: SLF001 - what next_rendezvous does, without its delay
    handler._op_executor.run(join, time.monotonic() + 1.0)  # noqa: SLF001 - as above
    us = Membership()
    us.belong_to(handler)
    if not us.change(us.forget_us) or us.view().state.participants:
        raise ConfigError("a node that leaves is not let go")
    us.change(_close)
    if not us.change(begin_anew) or us.view().state.closed:
        raise ConfigError("it stays closed")


def _close(state: Any) -> bool:  # noqa: ANN401 - torch's, and private
    state.closed = True
    return True


def _parameters(method: Any) -> list[str]:  # noqa: ANN401 - whatever it is by now
    return list(inspect.signature(method).parameters) if callable(method) else []


def _names(owner: object, name: str) -> set[str]:
    """Return the names that a function's code uses."""
    code = getattr(getattr(owner, name, None), "__code__", None)
    return set(code.co_names) if code is not None else set()
