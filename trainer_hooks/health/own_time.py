"""A rank's own time: from the step gate to where its first collective begins.

Plain step time accuses nobody: all ranks wait for the slowest in the collectives, and their steps
are equally long. With one of three DDP ranks asleep for 30 ms in each step, steps took 35.9, 35.4
and 35.6 ms, and the ranks' own times 0.9, 31.3 and 0.8 ms (trainer-facts 8.19, 2026-11-30).

DDP starts its first collective in C++, as soon as the gradients of its first bucket are there. The
first gradient is the last thing before that which Python can see. FSDP's first collective comes
with the forward of the outermost module. torch's own flight recorder has every collective of every
backend, but to read it holds the interpreter for 0.1 s at its usual size.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from torch import nn
from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

KEPT = 256
"""Steps that are kept for whoever takes them; more are not needed for a median."""


class Seen(StrEnum):
    """By what the first collective of a step is seen."""

    GRADIENT = "first gradient"
    FORWARD = "first forward"
    NOTHING = "not seen"


@dataclass(frozen=True, slots=True)
class StepTime:
    """One step of this rank, in seconds."""

    own_s: float
    """Before its first collective."""
    step_s: float
    """Altogether."""


class OwnTime:
    """Measures each step of one rank. The training thread calls it, and it takes no lock.

    Times are the host's: where it only queues work for a GPU, it is the host that is measured.

    Args:
        model: Wrapped by DDP or FSDP, or holding such a module; in others nothing is seen.
        now_s: The clock.
    """

    def __init__(self, model: nn.Module, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._began_s: float | None = None
        self._first_s: float | None = None
        self._first_gradient: int | None = None
        self._taken: deque[tuple[float, float, float]] = deque(maxlen=KEPT)
        self._handles: dict[int, RemovableHandle] = {}
        self.seen = Seen.NOTHING
        for module in model.modules():  # the outermost first
            if isinstance(module, (FSDPModule, FullyShardedDataParallel)):
                self.seen = Seen.FORWARD
                self._handles[0] = module.register_forward_pre_hook(self._see, prepend=True)
                return
            if isinstance(module, DistributedDataParallel):
                self.seen = Seen.GRADIENT
                self._watch_gradients(module)
                return

    def begin(self) -> None:
        """Note that the gate of a step is passed."""
        self._first_s = None
        self._began_s = self._now_s()

    def end(self) -> None:
        """Note that the step is over."""
        began_s, first_s = self._began_s, self._first_s
        if began_s is not None and first_s is not None:
            self._taken.append((began_s, first_s, self._now_s()))
            if len(self._handles) > 1:
                self._watch_one()
        self._began_s = None

    def take(self) -> list[StepTime]:
        """Return the steps since the last call."""
        taken = [
            StepTime(own_s=first_s - began_s, step_s=ended_s - began_s)
            for began_s, first_s, ended_s in self._taken
        ]
        self._taken.clear()
        return taken

    def close(self) -> None:
        """Take the hooks off the model."""
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()

    def _see(self, *_: object) -> None:
        if self._first_s is None:
            self._first_s = self._now_s()

    def _watch_gradients(self, module: nn.Module) -> None:
        """Find out in the first step whose gradient comes first: one hook is enough then."""
        for number, parameter in enumerate(module.parameters()):
            if parameter.requires_grad:

                def see(_: object, number: int = number) -> None:
                    if self._first_s is None:
                        self._first_gradient = number
                        self._see()

                self._handles[number] = parameter.register_post_accumulate_grad_hook(see)  # type: ignore[no-untyped-call]  # torch has not typed it

    def _watch_one(self) -> None:
        for number in [number for number in self._handles if number != self._first_gradient]:
            self._handles.pop(number).remove()
