"""How torchrun has ended: what it raises, as values."""

import signal
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous.api import RendezvousError

from trainer_hooks.errors import ConfigError
from trainer_hooks.launch.agent import NodeLeavesError, RanksPreemptedError, failures_of
from trainer_hooks.launch.arguments import TORCHRUN
from trainer_hooks.launch.exit_codes import Failure


class TorchrunEnd(NamedTuple):
    """How torchrun has ended."""

    failures: Mapping[int, Failure] = MappingProxyType({})
    """By local rank, in the order of their deaths."""
    stopped_by: int | None = None
    """The signal that has stopped it."""
    reason: str | None = None
    """Its complaint; None if it has none."""
    is_rendezvous_lost: bool = False


_REFUSALS = (
    ValueError,
    AssertionError,
    KeyError,
    FileNotFoundError,
    PermissionError,
    NotADirectoryError,
)
"""What torchrun raises for an option that it can make nothing of: each part looks at its own."""


def run_torchrun(options: object, has_begun: Callable[[], bool]) -> TorchrunEnd:
    """Run torchrun to its end.

    Args:
        options: As torchrun has understood them.
        has_begun: Tells whether it has come so far as to start ranks.

    Raises:
        ConfigError: It refuses to begin with these options.
    """
    try:
        TORCHRUN.run(options)
    except ChildFailedError as error:
        return TorchrunEnd(failures_of(error.failures.values()), reason=_deaths(error))
    except NodeLeavesError as error:
        return TorchrunEnd(reason=str(error))
    except SignalException as error:
        name = signal.Signals(error.sigval).name
        return TorchrunEnd(stopped_by=int(error.sigval), reason=f"stopped by {name}")
    except RanksPreemptedError as error:
        return TorchrunEnd(reason=str(error))
    except RendezvousError as error:
        # The node that hosts the rendezvous has left first; the ranks' own files still count.
        return TorchrunEnd(reason=f"the rendezvous is lost: {error}", is_rendezvous_lost=True)
    except _REFUSALS as error:
        if has_begun():
            raise
        what = f"{type(error).__name__}: {error}"
        raise ConfigError(f"torchrun does not begin with these arguments: {what}") from error
    return TorchrunEnd()


def _deaths(error: ChildFailedError) -> str:
    return "; ".join(f"rank {r} exited with {f.exitcode}" for r, f in error.failures.items())
