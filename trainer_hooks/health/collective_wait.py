"""How long a rank waits inside the collectives of its backward: for the others, as a rule.

DDP waits for all of its collectives in the end of the backward, in a callback that it queues in the
autograd engine when its last bucket is full. One that is queued with the first gradient runs before
that, and one that this one queues runs after it: what lies between is DDP's wait. Whoever waits
least is waited for, however early its first gradient was there.

It is the host's wait. With gloo that is the wait itself. With NCCL the host only tells its stream
to wait, and goes on: there it is not seen.
"""

import time
from collections.abc import Callable

from torch import nn
from torch.autograd.variable import Variable


class CollectiveWait:
    """Adds up the waits of one step. The training thread, or autograd's for it, calls it.

    Args:
        now_s: The clock.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._since_s = 0.0
        self.waited_s = 0.0
        """Of all backwards since this was set to 0."""

    def watch(self) -> None:
        """See the wait of the backward under way; call it with its first gradient."""
        _queue(self._begin)

    def _begin(self) -> None:
        self._since_s = self._now_s()
        _queue(self._end)

    def _end(self) -> None:
        self.waited_s += self._now_s() - self._since_s


def is_wait_seen(module: nn.Module) -> bool:
    """Tell whether the host itself waits for a DDP module's collectives."""
    return all(parameter.device.type == "cpu" for parameter in module.parameters())


def _queue(callback: Callable[[], None]) -> None:
    """Have something done when the gradients of this backward are there, in the order queued."""
    Variable._execution_engine.queue_callback(callback)  # noqa: SLF001 - torch's own FSDP and DDP hooks do so; there is no other way
