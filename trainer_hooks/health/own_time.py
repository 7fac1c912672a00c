"""A rank's own time: from the step gate to where its first collective begins, and without waits.

Plain step time accuses nobody: all ranks wait for the slowest in the collectives, and their steps
are equally long. With one of three DDP ranks asleep for 30 ms in each step, steps took 35.9, 35.4
and 35.6 ms, and the ranks' own times 0.9, 31.3 and 0.8 ms (trainer-facts 8.19, 2026-11-30).

DDP starts its first collective in C++, as soon as the gradients of its first bucket are there. The
first gradient is the last thing before that which Python can see. FSDP's first collective comes
with the forward of the outermost module. torch's own flight recorder has every collective of every
backend, but to read it holds the interpreter for 0.1 s at its usual size.

Who is slow after its first gradient, in its backward or in what it does at the end of a step, is
seen by the wait inside the collectives. To look at that costs more, so where steps are short it is
looked at in some only.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

from trainer_hooks.health.collective_wait import CollectiveWait, is_wait_seen

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

KEPT = 256
"""Steps that are kept for whoever takes them; more are not needed for a median."""

WAIT_EVERY_STEPS = 16
"""Short steps between two in which the wait is looked at: it costs some 4 us (bench/guards.py)."""

LONG_S = 0.01
"""What a step takes from which on the next is looked at: 4 us are a 2500th of it."""


Instants: TypeAlias = tuple[float, float, float]
"""When a step began, came to its first collective, and ended; on the clock in use."""


class Seen(StrEnum):
    """By what the first collective of a step is seen."""

    GRADIENT = "first gradient"
    FORWARD = "first forward"
    NOTHING = "not seen"


@dataclass(frozen=True, slots=True)
class StepTime:
    """One step of this rank, in seconds."""

    own_s: float
    """Before its first collective; or all of it but the wait inside collectives."""
    step_s: float
    """Altogether."""


def early_times(taken: Iterable[Instants]) -> list[StepTime]:
    """Return steps up to their first collective."""
    return [
        StepTime(own_s=first_s - began_s, step_s=ended_s - began_s)
        for began_s, first_s, ended_s in taken
    ]


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
        self._first_gradient: torch.Tensor | None = None
        self._taken: deque[Instants] = deque(maxlen=KEPT)
        self._handles: list[RemovableHandle] = []
        self._wait: CollectiveWait | None = None
        self._is_wait_watched = False
        self._steps = 0
        self._next_look = 1
        """Steps after which something is changed or taken in."""
        self._without_wait: deque[StepTime] = deque(maxlen=KEPT)
        self.seen = Seen.NOTHING
        for module in model.modules():  # the outermost first
            if isinstance(module, (FSDPModule, FullyShardedDataParallel)):
                self.seen = Seen.FORWARD
                self._handles.append(
                    module.register_forward_pre_hook(self._see_forward, prepend=True)
                )
                return
            if isinstance(module, DistributedDataParallel):
                self.seen = Seen.GRADIENT
                self._wait = CollectiveWait(now_s) if is_wait_seen(module) else None
                self._watch_gradients(module)
                return

    @property
    def is_wait_seen(self) -> bool:
        """Whether the wait inside collectives is seen."""
        return self._wait is not None

    def begin(self) -> None:
        """Note that the gate of a step is passed."""
        self._first_s = None
        self._began_s = self._now_s()

    def end(self) -> None:
        """Note that the step is over."""
        began_s, first_s = self._began_s, self._first_s
        if began_s is None or first_s is None:
            return
        ended_s = self._now_s()
        self._began_s = None
        self._taken.append((began_s, first_s, ended_s))
        self._steps += 1
        if self._steps == self._next_look or ended_s - began_s >= LONG_S:
            self._look_at_wait(ended_s - began_s)

    def take(self) -> list[Instants]:
        """Return the steps since the last call: when each began, met a collective, and ended."""
        taken = list(self._taken)
        self._taken.clear()
        return taken

    def take_without_wait(self, steps: int) -> list[StepTime]:
        """Return the steps in which the wait was looked at, once there are so many of them."""
        if len(self._without_wait) < steps:
            return []
        taken = list(self._without_wait)
        self._without_wait.clear()
        return taken

    def close(self) -> None:
        """Take the hooks off the model."""
        self._is_wait_watched = False
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _look_at_wait(self, step_s: float) -> None:
        """Take in the wait of the step that is over, or have that of the next one watched.

        After the first step it is known whose gradient comes first, and that one is watched.
        """
        if self._steps == 1 and self.seen is Seen.GRADIENT:
            self._watch_one()
        if self._wait is None:
            return
        if self._is_wait_watched:
            own_s = step_s - self._wait.waited_s
            self._without_wait.append(StepTime(own_s=own_s, step_s=step_s))
        self._wait.waited_s = 0.0
        # The first step is unlike the others, and whose gradient comes first was not known in it.
        is_next = step_s >= LONG_S or not (self._is_wait_watched or self._steps == 1)
        self._is_wait_watched = is_next
        self._next_look = self._steps + (1 if is_next else WAIT_EVERY_STEPS - 1)

    def _see(self, _: object) -> None:
        if self._first_s is None:
            self._first_s = self._now_s()
        if self._is_wait_watched and self._wait is not None:
            self._wait.watch()

    def _see_forward(self, module: nn.Module, _: object) -> None:
        self._see(module)

    def _watch_gradients(self, module: nn.Module) -> None:
        """Find out in the first step whose gradient comes first: one hook is enough then."""
        for parameter in module.parameters():
            if parameter.requires_grad:
                self._hook(parameter, self._find)

    def _find(self, parameter: torch.Tensor) -> None:
        if self._first_s is None:
            self._first_gradient = parameter
        self._see(parameter)

    def _watch_one(self) -> None:
        self.close()
        if self._first_gradient is not None:
            self._hook(self._first_gradient, self._see)

    def _hook(self, parameter: torch.Tensor, see: Callable[[torch.Tensor], None]) -> None:
        handle = parameter.register_post_accumulate_grad_hook(see)  # type: ignore[no-untyped-call]  # torch has not typed it
        self._handles.append(handle)
